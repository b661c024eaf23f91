-- Grain: one row per game and challenge that was played, newest first.
SELECT game, challenge, players, people, games_counted, rules_versions, as_of, final_from, status
FROM challenge_status
WHERE $game IS NULL OR game = $game
ORDER BY challenge DESC, game
LIMIT $limit OFFSET $offset;
