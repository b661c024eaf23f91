-- Grain: one row per upload with the id of a game that a decision stands on, as releases leave it, and per upload with the id that
-- a copy among those is a copy of; another upload may have the same id.
CREATE TEMP TABLE candidate_rows AS
WITH ids AS (
    SELECT game_id FROM decided_ids
    UNION
    SELECT uploads.copy_of AS game_id
    FROM uploads
    SEMI JOIN decided_ids ON decided_ids.game_id = uploads.game_id
    WHERE uploads.verdict = 'copy'
)
SELECT
    uploads.* REPLACE (
        CASE WHEN released_rows.filename IS NULL THEN uploads.verdict ELSE 'flagged' END AS verdict,
        uploads.counted AND released_rows.filename IS NULL AS counted
    )
FROM uploads
SEMI JOIN ids ON ids.game_id = uploads.game_id
LEFT JOIN released_rows
    ON released_rows.filename = uploads.filename
    AND released_rows.file_row_number = uploads.file_row_number;
