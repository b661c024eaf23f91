-- Grain: one row per challenge, player and attempt with more than one game that counts.
-- A verdict file read twice and two players merged under one id both show here.
WITH repeated AS (
    SELECT challenge_key, player_key, attempt, count(*) AS games
    FROM keyed.eligible_games
    GROUP BY challenge_key, player_key, attempt
    HAVING count(*) > 1
),
named AS (
    SELECT repeated.*, games.game_id
    FROM repeated
    JOIN keyed.eligible_games AS games
        ON games.challenge_key = repeated.challenge_key
        AND games.player_key = repeated.player_key
        AND games.attempt = repeated.attempt
)
SELECT challenge_key, player_key, attempt, games, min(game_id) AS first_game_id, max(game_id) AS last_game_id
FROM named
GROUP BY challenge_key, player_key, attempt, games;
