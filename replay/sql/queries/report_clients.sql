-- Grain: one row a client (platform and app version) of the day: its games and flagged games, and the same of the nights before.
WITH today AS (
    SELECT platform, app_version, count(*) AS games, count(*) FILTER (verdict = 'flagged') AS flagged
    FROM read_parquet($today, hive_partitioning = false)
    WHERE verdict <> 'copy'
    GROUP BY platform, app_version
),
before AS (
    SELECT platform, app_version, count(*) AS games, count(*) FILTER (verdict = 'flagged') AS flagged
    FROM read_parquet($before, hive_partitioning = false)
    WHERE verdict <> 'copy'
    GROUP BY platform, app_version
)
SELECT
    today.platform || ' ' || today.app_version AS name,
    today.flagged,
    today.games,
    coalesce(before.flagged, 0) AS usual_flagged,
    coalesce(before.games, 0) AS usual_games
FROM today
LEFT JOIN before ON before.platform = today.platform AND before.app_version = today.app_version
ORDER BY today.flagged * 1.0 / today.games DESC, name
LIMIT 50;
