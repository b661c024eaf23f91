-- Grain: one row per upload that is flagged or withheld, or verified with suspicions, as releases leave it.
CREATE TEMP TABLE suspect_rows AS
SELECT
    uploads.* REPLACE (
        CASE WHEN released_rows.filename IS NULL THEN uploads.verdict ELSE 'flagged' END AS verdict,
        uploads.counted AND released_rows.filename IS NULL AS counted
    )
FROM uploads
LEFT JOIN released_rows
    ON released_rows.filename = uploads.filename
    AND released_rows.file_row_number = uploads.file_row_number
WHERE uploads.verdict IN ('flagged', 'withheld')
    OR (uploads.verdict = 'verified' AND len(uploads.suspicions) > 0);
