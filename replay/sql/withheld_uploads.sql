-- Grain: one row per verdict row that is held back, with what identifies the upload and what it would be flagged for.
SELECT
    held.game,
    held.platform,
    held.app_version,
    held.rules,
    uploads.game_id,
    uploads.mode,
    uploads.challenge,
    uploads.attempt,
    uploads.score,
    uploads.best_combo,
    uploads.level,
    uploads.lines,
    uploads.final_board,
    uploads.log_hash_low,
    uploads.log_hash_high,
    uploads.reasons
FROM held
JOIN today_flags AS uploads USING (row)
