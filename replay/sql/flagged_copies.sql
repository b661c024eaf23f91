-- Grain: one row per subject of copies of an upload in flagged_games, with the subject of that one: what was decided on the copy
-- holds for the upload that stands.  replay.reviews.copies.is_copy_of is the same in Python.
CREATE TABLE flagged_copies AS
WITH named AS (
    SELECT uploads.*
    FROM uploads
    SEMI JOIN suspect_rows ON suspect_rows.game_id = uploads.copy_of
    WHERE uploads.verdict = 'copy'
),
sides AS (
    SELECT true AS is_copy, copy_of AS standing_id, * FROM named
    UNION ALL BY NAME
    SELECT false AS is_copy, game_id AS standing_id, * FROM suspect_rows
),
keyed AS (
    SELECT
        *,
        subject_of(
            game, challenge, attempt, log_hash_high, log_hash_low, game_id, player_id, mode, rules, score, best_combo, level,
            lines, final_board
        ) AS subject,
        replayed_score IS NOT NULL
            AND NOT coalesce(
                list_has_any(
                    reason_codes,
                    ['score_mismatch', 'combo_mismatch', 'level_mismatch', 'lines_mismatch', 'board_mismatch', 'illegal_move']
                ),
                false
            ) AS comes_out
    FROM sides
)
SELECT DISTINCT copies.subject AS copy_subject, stands.subject
FROM keyed AS copies
JOIN keyed AS stands
    ON copies.is_copy
    AND NOT stands.is_copy
    AND stands.standing_id = copies.standing_id
    AND stands.game = copies.game
    AND stands.mode = copies.mode
    AND stands.rules = copies.rules
    AND stands.challenge = copies.challenge
    AND stands.player_id = copies.player_id
    AND stands.attempt = copies.attempt
    AND stands.log_hash_low = copies.log_hash_low
    AND stands.log_hash_high = copies.log_hash_high
    AND stands.score = copies.score
    AND stands.best_combo = copies.best_combo
WHERE copies.subject <> stands.subject
    AND (
        (copies.comes_out AND stands.comes_out)
        OR (
            stands.final_board = copies.final_board
            AND stands.level IS NOT DISTINCT FROM copies.level
            AND stands.lines IS NOT DISTINCT FROM copies.lines
        )
    )
ORDER BY copy_subject, stands.subject;
