-- Grain: one row per upload with the id of a game that a decision stands on, as releases leave it; another upload may have the
-- same id.
CREATE TEMP TABLE candidate_rows AS
SELECT
    uploads.* REPLACE (
        CASE WHEN released_rows.filename IS NULL THEN uploads.verdict ELSE 'flagged' END AS verdict,
        uploads.counted AND released_rows.filename IS NULL AS counted
    )
FROM uploads
SEMI JOIN decided ON decided.game_id = uploads.game_id
LEFT JOIN released_rows
    ON released_rows.filename = uploads.filename
    AND released_rows.file_row_number = uploads.file_row_number;
