-- Grain: one row per leaderboard or digest row of a player who is not a person.
WITH rows AS (
    SELECT 'leaderboard' AS mart, player_key FROM keyed.leaderboard
    UNION ALL
    SELECT 'weekly_digest' AS mart, player_key FROM keyed.weekly_digest
)
SELECT rows.mart, rows.player_key, players.player_kind
FROM rows
JOIN keyed.players ON players.player_key = rows.player_key
WHERE players.player_kind <> 'human';
