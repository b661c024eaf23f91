-- Grain: one row per daily best whose game is not among those that count, or whose score another game had made before.
WITH made_by AS (
    SELECT best.challenge_key, best.player_key, best.score, best.attempt, best.game_id, games.game_id IS NOT NULL AS found
    FROM keyed.daily_best AS best
    LEFT JOIN keyed.eligible_games AS games
        ON games.challenge_key = best.challenge_key
        AND games.player_key = best.player_key
        AND games.attempt = best.attempt
        AND games.score = best.score
        AND games.finished_at = best.finished_at
        AND games.game_id = best.game_id
),
made_before AS (
    SELECT best.challenge_key, best.player_key, best.score, games.attempt, games.game_id
    FROM keyed.daily_best AS best
    JOIN keyed.eligible_games AS games
        ON games.challenge_key = best.challenge_key
        AND games.player_key = best.player_key
        AND games.score = best.score
    WHERE (games.finished_at, games.attempt, games.game_id) < (best.finished_at, best.attempt, best.game_id)
)
SELECT challenge_key, player_key, score, attempt, game_id, 'not a game that counts' AS fault
FROM made_by
WHERE NOT found
UNION ALL
SELECT challenge_key, player_key, score, attempt, game_id, 'made the score before' AS fault
FROM made_before;
