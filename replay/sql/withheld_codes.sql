-- Grain: one row per group that is held back and code in the list column in the braces, with the games that have it.
SELECT game, platform, app_version, rules, code, count(*) AS games
FROM (SELECT game, platform, app_version, rules, unnest({column}) AS code FROM held)
GROUP BY game, platform, app_version, rules, code
ORDER BY game, platform, app_version, rules, code
