-- Grain: one row per leaderboard and total whose position is not 1 + the people above it.
WITH totals AS (
    SELECT
        board_key,
        total,
        count(*) AS people,
        min(position) AS first_position,
        max(position) AS last_position
    FROM keyed.leaderboard
    GROUP BY board_key, total
),
counted AS (
    SELECT
        *,
        coalesce(sum(people) OVER (
            PARTITION BY board_key ORDER BY total DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0) AS people_above
    FROM totals
)
SELECT *
FROM counted
WHERE first_position <> 1 + people_above
    OR last_position <> 1 + people_above;
