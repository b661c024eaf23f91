-- Grain: one row per challenge, player and attempt with more than one game that counts, those that a person cleared left out.
-- A verdict file read twice and two players merged under one id both show here.
WITH repeated AS (
    SELECT challenge_key, player_key, attempt, count(*) AS games
    FROM keyed.eligible_games
    GROUP BY challenge_key, player_key, attempt
    HAVING count(*) > 1
),
-- A second log of an attempt counts beside the first when a person cleared it; the same row never counts twice.
cleared_rows AS (
    SELECT DISTINCT filename, file_row_number, game, challenge, player_id, attempt
    FROM judged_rows
    WHERE counts
        AND NOT counted
),
cleared AS (
    SELECT challenges.challenge_key, player_keys.player_key, cleared_rows.attempt, count(*) AS games_cleared
    FROM cleared_rows
    LEFT JOIN player_states ON player_states.player_id = cleared_rows.player_id
    JOIN player_keys ON player_keys.player_id = coalesce(player_states.new_id, cleared_rows.player_id)
    JOIN keyed.challenges
        ON challenges.game = cleared_rows.game
        AND challenges.challenge = cleared_rows.challenge
    GROUP BY challenges.challenge_key, player_keys.player_key, cleared_rows.attempt
),
too_many AS (
    SELECT repeated.*
    FROM repeated
    LEFT JOIN cleared
        ON cleared.challenge_key = repeated.challenge_key
        AND cleared.player_key = repeated.player_key
        AND cleared.attempt = repeated.attempt
    WHERE repeated.games - coalesce(cleared.games_cleared, 0) > 1
),
named AS (
    SELECT too_many.*, games.game_id
    FROM too_many
    JOIN keyed.eligible_games AS games
        ON games.challenge_key = too_many.challenge_key
        AND games.player_key = too_many.player_key
        AND games.attempt = too_many.attempt
)
SELECT challenge_key, player_key, attempt, games, min(game_id) AS first_game_id, max(game_id) AS last_game_id
FROM named
GROUP BY challenge_key, player_key, attempt, games;
