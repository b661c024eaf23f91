-- Grain: one row per game that counts in standings.
-- Texts stand once, in keyed.players and keyed.challenges; the large tables hold their keys, which sort as the texts do.
CREATE TABLE keyed.eligible_games AS
SELECT
    challenges.challenge_key,
    player_keys.player_key,
    eligible_rows.attempt,
    eligible_rows.score,
    eligible_rows.finished_at,
    eligible_rows.game_id,
    eligible_rows.rules,
    eligible_rows.player_kind,
    eligible_rows.nation
FROM eligible_rows
JOIN player_keys ON player_keys.player_id = eligible_rows.player_id
JOIN keyed.challenges
    ON challenges.game = eligible_rows.game
    AND challenges.challenge = eligible_rows.challenge
ORDER BY challenge_key, player_key, attempt, finished_at, game_id;
