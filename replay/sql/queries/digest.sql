-- Grain: one row per game and person of the weekly digest; one person's when a player_id is given, one game's when a game is.
SELECT game, sunday, player_id, position, total, challenges, previous_position, previous_total, change
FROM weekly_digest
WHERE ($game IS NULL OR game = $game)
    AND ($player_id IS NULL OR player_id = $player_id)
ORDER BY game, position, player_id
LIMIT $limit OFFSET $offset;
