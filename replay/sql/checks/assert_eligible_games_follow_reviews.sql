-- Grain: one row per game that counts although a person upheld it, or that nobody cleared and that is flagged, or withheld and
-- released, or withheld without having counted before.  Asked of the decisions and releases themselves, not of what was judged
-- before the marts were made.
WITH asked AS (
    SELECT filename, file_row_number
    FROM eligible_rows
    WHERE verdict <> 'verified'
        OR game_id IN (SELECT game_id FROM decided)
),
with_subjects AS (
    SELECT
        uploads.*,
        subject_of(
            uploads.game, uploads.challenge, uploads.attempt, uploads.log_hash_high, uploads.log_hash_low, uploads.game_id,
            uploads.player_id, uploads.mode, uploads.rules, uploads.score, uploads.best_combo, uploads.level, uploads.lines,
            uploads.final_board
        ) AS subject
    FROM uploads
    JOIN asked
        ON asked.filename = uploads.filename
        AND asked.file_row_number = uploads.file_row_number
),
with_releases AS (
    SELECT with_subjects.*, released.day IS NOT NULL AS is_released
    FROM with_subjects
    LEFT JOIN landed ON landed.filename = with_subjects.filename
    LEFT JOIN released
        ON released.day = landed.day
        AND released.game = with_subjects.game
        AND released.platform = with_subjects.platform
        AND released.app_version = with_subjects.app_version
        AND released.rules = with_subjects.rules
),
with_dues AS (
    SELECT
        with_releases.game_id,
        with_releases.verdict,
        with_releases.subject,
        with_releases.is_released,
        decided.action,
        with_releases.verdict = 'verified'
            OR (with_releases.verdict = 'withheld' AND with_releases.counted AND NOT with_releases.is_released) AS is_due
    FROM with_releases
    LEFT JOIN decided ON decided.subject = with_releases.subject
)
SELECT game_id, verdict, subject, is_released, action
FROM with_dues
WHERE action = 'uphold'
    OR (NOT coalesce(is_due, false) AND action IS DISTINCT FROM 'clear');
