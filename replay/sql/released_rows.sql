-- Grain: one row per withheld upload whose group, on the day that it landed, people released: it stands as flagged from then on.
CREATE TEMP TABLE released_rows AS
SELECT uploads.filename, uploads.file_row_number
FROM uploads
JOIN landed ON landed.filename = uploads.filename
SEMI JOIN released
    ON released.day = landed.day
    AND released.game = uploads.game
    AND released.platform = uploads.platform
    AND released.app_version = uploads.app_version
    AND released.rules = uploads.rules
WHERE uploads.verdict = 'withheld';
