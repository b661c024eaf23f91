-- Grain: one row per group that is held back, with how many of its rows count as before.
SELECT game, platform, app_version, rules, count(*) FILTER (counts) AS counted
FROM held
GROUP BY game, platform, app_version, rules
ORDER BY game, platform, app_version, rules
