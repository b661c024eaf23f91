-- Grain: one row per mart and key that stands for no player, or for a player who stands there twice over.
WITH keys AS (
    SELECT 'daily_best' AS mart, player_key FROM keyed.daily_best
    UNION ALL
    SELECT 'totals' AS mart, player_key FROM keyed.totals
    UNION ALL
    SELECT 'totals_month' AS mart, player_key FROM keyed.totals_month
    UNION ALL
    SELECT 'leaderboard' AS mart, player_key FROM keyed.leaderboard
    UNION ALL
    SELECT 'weekly_digest' AS mart, player_key FROM keyed.weekly_digest
),
unknown_keys AS (
    SELECT mart, player_key, 'no such player' AS fault
    FROM keys
    ANTI JOIN keyed.players USING (player_key)
),
repeated_ids AS (
    SELECT 'players' AS mart, min(player_key) AS player_key, 'two keys for one id' AS fault
    FROM keyed.players
    GROUP BY player_id
    HAVING count(*) > 1
),
repeated_keys AS (
    SELECT 'players' AS mart, player_key, 'two rows for one key' AS fault
    FROM keyed.players
    GROUP BY player_key
    HAVING count(*) > 1
)
SELECT * FROM unknown_keys
UNION ALL
SELECT * FROM repeated_ids
UNION ALL
SELECT * FROM repeated_keys;
