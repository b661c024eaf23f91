-- Grain: one row: how much differs between the warehouses.
WITH everybody AS (
    SELECT person FROM moved_totals
    UNION
    SELECT person FROM moved_days
)
SELECT
    (SELECT count(*) FROM everybody) AS players,
    (SELECT count(*) FROM moved_days WHERE is_other_best) AS bests,
    (SELECT count(*) FROM moved_totals WHERE total_before IS DISTINCT FROM total_after) AS totals_moved,
    (SELECT count(*) FROM moved_totals WHERE position_before IS DISTINCT FROM position_after) AS positions,
    (SELECT count(*) FROM moved_days WHERE tier_before IS DISTINCT FROM tier_after) AS tiers,
    (SELECT count(*) FROM moved_totals) AS totals_of,
    (SELECT count(*) FROM moved_days) AS days_of;
