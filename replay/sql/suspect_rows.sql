-- Grain: one row per upload that is flagged, or verified with suspicions.
CREATE TEMP TABLE suspect_rows AS
SELECT *
FROM uploads
WHERE verdict = 'flagged'
    OR (verdict = 'verified' AND len(suspicions) > 0);
