-- Grain: one row an uploaded line of a simulated lake: what it was, what was expected, what the night found.
WITH truth AS (
    SELECT
        *,
        expected_verdict || ' ' || list_sort(expected_reasons)::VARCHAR || ' ' || list_sort(expected_suspicions)::VARCHAR
            || ' ' || expected_counted::VARCHAR AS expected
    FROM read_ndjson($truth, hive_partitioning = false, columns = {
        game_id: 'VARCHAR', game: 'VARCHAR', day: 'VARCHAR', kind: 'VARCHAR', variant: 'VARCHAR', expected_verdict: 'VARCHAR',
        expected_reasons: 'VARCHAR[]', expected_suspicions: 'VARCHAR[]', expected_counted: 'BOOLEAN', file: 'VARCHAR', line: 'BIGINT'
    })
),
verdicts AS (
    SELECT
        regexp_extract(filename, 'day=([0-9-]+)', 1) AS day, source_file AS file, source_line AS line,
        -- A flag that is held back was found none the less: what the truth says of the upload is the same.
        CASE verdict WHEN 'withheld' THEN 'flagged' ELSE verdict END || ' ' || list_sort(reason_codes)::VARCHAR || ' '
            || list_sort(suspicions)::VARCHAR || ' ' || counted::VARCHAR AS found,
        verdict = 'withheld' AS is_held
    FROM read_parquet($verdicts, filename = true, hive_partitioning = false)
),
quarantine AS (
    SELECT
        regexp_extract(filename, 'day=([0-9-]+)', 1) AS day, source_file AS file, source_line AS line,
        'quarantined [] [] false' AS found, false AS is_held
    FROM read_parquet($quarantine, filename = true, hive_partitioning = false)
),
rows_found AS (
    SELECT * FROM verdicts
    UNION ALL
    SELECT * FROM quarantine
)
SELECT
    coalesce(truth.game, '') AS game,
    coalesce(truth.kind, 'not uploaded') AS kind,
    truth.game_id,
    coalesce(truth.day, rows_found.day) || ' ' || coalesce(truth.file, rows_found.file) || ':' || coalesce(truth.line, rows_found.line)
        AS place,
    truth.expected,
    rows_found.found,
    coalesce(truth.expected = rows_found.found, false) AS is_right,
    coalesce(rows_found.is_held, false) AS is_held
FROM truth
FULL JOIN rows_found ON rows_found.day = truth.day AND rows_found.file = truth.file AND rows_found.line = truth.line
ORDER BY game, kind, place, truth.game_id;
