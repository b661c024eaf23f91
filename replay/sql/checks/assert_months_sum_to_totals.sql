-- Grain: one row per game and player whose months do not add up to the total.
WITH summed AS (
    SELECT
        all_time.period_key,
        by_month.player_key,
        sum(by_month.total) AS total,
        sum(by_month.challenges) AS challenges
    FROM keyed.totals_month AS by_month
    JOIN keyed.periods AS months ON months.period_key = by_month.period_key AND months.period = 'month'
    JOIN keyed.periods AS all_time ON all_time.game = months.game AND all_time.period = 'all_time'
    GROUP BY all_time.period_key, by_month.player_key
)
SELECT
    coalesce(summed.period_key, totals.period_key) AS period_key,
    coalesce(summed.player_key, totals.player_key) AS player_key,
    summed.total AS sum_of_months,
    totals.total
FROM summed
FULL JOIN keyed.totals
    ON totals.period_key = summed.period_key
    AND totals.player_key = summed.player_key
WHERE summed.total IS DISTINCT FROM totals.total
    OR summed.challenges IS DISTINCT FROM totals.challenges;
