-- Grain: one row per upload that is flagged or withheld, or verified with suspicions; counted says whether these standings use it.
-- A withheld upload of a group that people released is a flagged one here.
CREATE TABLE flagged_games AS
WITH judged AS (
    SELECT
        suspect_rows.*,
        landed.day,
        coalesce(player_states.new_id, suspect_rows.player_id) AS shown_player_id,
        coalesce(judged_rows.counts, suspect_rows.counted) AND NOT coalesce(player_states.removed, false) AS is_counted
    FROM suspect_rows
    LEFT JOIN landed ON landed.filename = suspect_rows.filename
    LEFT JOIN player_states ON player_states.player_id = suspect_rows.player_id
    LEFT JOIN judged_rows
        ON judged_rows.filename = suspect_rows.filename
        AND judged_rows.file_row_number = suspect_rows.file_row_number
)
SELECT
    day,
    source_file,
    source_line,
    subject_of(
        game, challenge, attempt, log_hash_high, log_hash_low, game_id, player_id, mode, rules, score, best_combo, level, lines,
        final_board
    ) AS subject,
    game_id,
    game,
    mode,
    rules,
    challenge,
    shown_player_id AS player_id,
    player_kind,
    nation,
    attempt,
    platform,
    app_version,
    started_at,
    finished_at,
    uploaded_at,
    score,
    best_combo,
    replayed_score,
    replayed_best_combo,
    moves,
    verdict,
    reason_codes,
    reasons,
    suspicions,
    evidence,
    attempt_key,
    is_counted AS counted
FROM judged
ORDER BY day, source_file, source_line, game_id, player_id, challenge, attempt, finished_at, score;
