-- Grain: one row a copy of a game that one of $subjects is an upload of: its subject, and that of the upload that stands.
WITH asked AS (
    SELECT unnest($subjects::VARCHAR[]) AS subject
)
SELECT copy_subject, subject
FROM flagged_copies
WHERE subject IN (
        SELECT subject FROM asked
        UNION ALL
        SELECT subject FROM flagged_copies WHERE copy_subject IN (SELECT subject FROM asked)
    )
ORDER BY copy_subject, subject;
