-- Grain: one row per game that counts although a person upheld it, or although it is flagged and nobody cleared it.
-- Asked of the decisions themselves, not of what was judged before the marts were made.
WITH asked AS (
    SELECT filename, file_row_number
    FROM eligible_rows
    WHERE verdict <> 'verified'
        OR game_id IN (SELECT game_id FROM decided)
),
with_subjects AS (
    SELECT
        uploads.game_id,
        uploads.verdict,
        subject_of(
            uploads.game, uploads.challenge, uploads.attempt, uploads.log_hash_high, uploads.log_hash_low, uploads.game_id,
            uploads.player_id, uploads.mode, uploads.rules, uploads.score, uploads.best_combo, uploads.level, uploads.lines,
            uploads.final_board
        ) AS subject
    FROM uploads
    JOIN asked
        ON asked.filename = uploads.filename
        AND asked.file_row_number = uploads.file_row_number
)
SELECT with_subjects.game_id, with_subjects.verdict, with_subjects.subject, decided.action
FROM with_subjects
LEFT JOIN decided ON decided.subject = with_subjects.subject
WHERE decided.action = 'uphold'
    OR (with_subjects.verdict <> 'verified' AND decided.action IS DISTINCT FROM 'clear');
