-- Grain: one row per verdict row of these files that is a copy and has one of the ids, or has the id that such a copy names.
WITH published AS (
    SELECT *
    FROM read_parquet($files, hive_partitioning = false, union_by_name = true)
),
copies AS (
    SELECT *
    FROM published
    WHERE verdict = 'copy' AND game_id IN (SELECT unnest($game_ids::VARCHAR[]))
)
SELECT * FROM copies
UNION ALL BY NAME
SELECT *
FROM published
WHERE verdict <> 'copy' AND game_id IN (SELECT copy_of FROM copies)
ORDER BY source_file, source_line
