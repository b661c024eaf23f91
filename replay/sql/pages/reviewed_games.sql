-- Grain: one row a subject of $subjects that something speaks against now: what does, where the upload lies, and what decides
-- whether it could count.
WITH wanted AS (
    SELECT subject, {'day': day, 'file': source_file, 'line': source_line} AS place, reasons, suspicions, verdict, score, attempt_key
    FROM flagged_games
    WHERE subject IN (SELECT unnest($subjects::VARCHAR[]))
)
SELECT
    subject,
    min(place)['day'] AS day,
    min(place)['file'] AS source_file,
    min(place)['line'] AS source_line,
    min_by(reasons, place) AS reasons,
    min_by(suspicions, place) AS suspicions,
    min_by(verdict, place) AS verdict,
    min_by(score, place) AS score,
    min_by(attempt_key, place) AS attempt_key
FROM wanted
GROUP BY subject;
