-- Grain: one row a quarantined record of any published day.
CREATE TEMP TABLE quarantine AS
WITH landed AS (
    SELECT unnest($files::VARCHAR[]) AS filename, unnest($days::DATE[]) AS day
),
records AS (
    SELECT * FROM read_parquet($files, filename = true, hive_partitioning = false, union_by_name = true)
)
SELECT
    landed.day,
    records.game_id,
    records.code,
    records.reason,
    records.source_file,
    records.source_line
FROM records
JOIN landed ON landed.filename = records.filename;
