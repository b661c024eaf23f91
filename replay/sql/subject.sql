-- Grain: one macro: the key of an upload that decisions belong to, as replay.reviews.model.subject_of makes it.
CREATE OR REPLACE TEMP MACRO subject_of(
    game, challenge, attempt, log_hash_high, log_hash_low, game_id, player_id, mode, rules, score, best_combo, level, lines, final_board
) AS sha256(
    concat(
        attempt, ' ', log_hash_high, ' ', log_hash_low,
        ' ', score, ' ', best_combo, ' ', coalesce(level::VARCHAR, '-'), ' ', coalesce(lines::VARCHAR, '-'),
        ' ', strlen(game), ':', game,
        ' ', strlen(challenge), ':', challenge,
        ' ', strlen(game_id), ':', game_id,
        ' ', strlen(player_id), ':', player_id,
        ' ', strlen(mode), ':', mode,
        ' ', strlen(rules), ':', rules,
        ' ', strlen(final_board), ':', final_board
    )
);
