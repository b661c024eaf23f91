-- Grain: one row a log of the player that somebody else uploaded for the same challenge too, longest first, with the number of all
-- such logs.  Who was first: by uploaded_at, then game_id, as a night decides it.
WITH same_logs AS (
    SELECT uploads_of_logs.*
    FROM uploads_of_logs
    SEMI JOIN player_uploads USING (game, challenge, log_hash_low, log_hash_high)
),
first_of_players AS (
    SELECT
        game, challenge, log_hash_low, log_hash_high, player_id,
        count(*) AS uploads,
        min(moves_received) AS moves,
        min(uploaded_at) AS first_at,
        arg_min(game_id, (uploaded_at, game_id)) AS first_game_id
    FROM same_logs
    GROUP BY game, challenge, log_hash_low, log_hash_high, player_id
),
shared AS (
    SELECT
        game, challenge,
        min(moves) AS moves,
        count(*) AS players,
        min(first_at) AS first_at,
        arg_min(player_id, (first_at, first_game_id)) AS first_player_id,
        arg_min(first_game_id, (first_at, first_game_id)) AS first_game_id,
        list(player_id ORDER BY first_at, first_game_id) FILTER (player_id <> $player_id) AS others
    FROM first_of_players
    GROUP BY game, challenge, log_hash_low, log_hash_high
    HAVING count(*) > 1
)
SELECT game, challenge, moves, players, first_at, first_player_id, first_game_id, others[:$shown] AS others, count(*) OVER () AS logs
FROM shared
ORDER BY moves DESC, challenge DESC, game, first_game_id
LIMIT $limit;
