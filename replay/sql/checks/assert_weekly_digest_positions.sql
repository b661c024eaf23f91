-- Grain: one row per game, Sunday and total whose position is not 1 + the people above it.
WITH standings AS (
    SELECT period_key, 'this Sunday' AS sunday, total, position FROM keyed.weekly_digest
    UNION ALL
    SELECT period_key, 'the Sunday before' AS sunday, previous_total AS total, previous_position AS position
    FROM keyed.weekly_digest
    WHERE previous_total IS NOT NULL OR previous_position IS NOT NULL
),
totals AS (
    SELECT
        period_key,
        sunday,
        total,
        count(*) AS people,
        min(position) AS first_position,
        max(position) AS last_position
    FROM standings
    GROUP BY period_key, sunday, total
),
counted AS (
    SELECT
        *,
        coalesce(sum(people) OVER (
            PARTITION BY period_key, sunday ORDER BY total DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0) AS people_above
    FROM totals
)
SELECT *
FROM counted
WHERE first_position IS DISTINCT FROM 1 + people_above
    OR last_position IS DISTINCT FROM 1 + people_above;
