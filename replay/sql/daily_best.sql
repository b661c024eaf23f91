-- Grain: one row per game, challenge and player: the best score that counts; of equal scores the earliest game made it.
CREATE TABLE keyed.daily_best AS
WITH best_games AS (
    SELECT challenge_key, player_key, score, attempt, finished_at, game_id
    FROM keyed.eligible_games
    QUALIFY row_number() OVER (
        PARTITION BY challenge_key, player_key
        ORDER BY score DESC, finished_at, attempt, game_id
    ) = 1
)
SELECT challenge_key, player_key, score, attempt, finished_at, game_id
FROM best_games
ORDER BY challenge_key, player_key;

CREATE VIEW daily_best AS
SELECT
    challenges.game,
    challenges.challenge,
    players.player_id,
    best.score,
    best.attempt,
    best.finished_at,
    best.game_id
FROM keyed.daily_best AS best
JOIN keyed.challenges ON challenges.challenge_key = best.challenge_key
JOIN keyed.players ON players.player_key = best.player_key;
