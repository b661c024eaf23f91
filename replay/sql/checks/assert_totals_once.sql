-- Grain: one row per table, period and player with more than one total.
WITH rows AS (
    SELECT 'totals' AS mart, period_key, player_key FROM keyed.totals
    UNION ALL
    SELECT 'totals_month' AS mart, period_key, player_key FROM keyed.totals_month
)
SELECT mart, period_key, player_key, count(*) AS totals
FROM rows
GROUP BY mart, period_key, player_key
HAVING count(*) > 1;
