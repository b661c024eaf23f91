-- Grain: one row per leaderboard row whose position is not 1 + the people above it with more.
-- With the display order proved by assert_leaderboard_order, that is the first ordinal of those with the same total.
WITH neighbours AS (
    SELECT
        board_key,
        ordinal,
        position,
        total,
        lag(position) OVER above AS position_above,
        lag(total) OVER above AS total_above
    FROM keyed.leaderboard
    WINDOW above AS (PARTITION BY board_key ORDER BY ordinal)
)
SELECT *
FROM neighbours
WHERE position <> CASE WHEN total = total_above THEN position_above ELSE ordinal END;
