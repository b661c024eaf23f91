-- Grain: one row per leaderboard row out of display order, which is dense from 1: total, then who reached it first, then id.
WITH neighbours AS (
    SELECT
        board_key,
        ordinal,
        total,
        reached_at,
        player_key,
        lag(ordinal, 1, 0) OVER above AS ordinal_above,
        lag(total) OVER above AS total_above,
        lag(reached_at) OVER above AS reached_at_above,
        lag(player_key) OVER above AS player_key_above
    FROM keyed.leaderboard
    WINDOW above AS (PARTITION BY board_key ORDER BY ordinal)
)
SELECT *
FROM neighbours
WHERE ordinal <> ordinal_above + 1
    OR total > total_above
    OR (total = total_above AND (reached_at, player_key) <= (reached_at_above, player_key_above));
