-- Grain: one row a reason or client (platform and app version) whose flag rate is far above that of the nights before.
-- Far above: at least $least flagged games, and a rate above $times the usual.  A client without games before is held against all.
WITH today AS (
    SELECT * FROM read_parquet($today, hive_partitioning = false, union_by_name = true) WHERE verdict <> 'copy'
),
before AS (
    SELECT * FROM read_parquet($before, hive_partitioning = false, union_by_name = true) WHERE verdict <> 'copy'
),
all_before AS (
    SELECT count(*) AS games, count(*) FILTER (verdict = 'flagged') AS flagged FROM before
),
reasons_today AS (
    SELECT unnest(reason_codes) AS name, count(*) AS flagged FROM today WHERE verdict = 'flagged' GROUP BY name
),
reasons_before AS (
    SELECT unnest(reason_codes) AS name, count(*) AS flagged FROM before WHERE verdict = 'flagged' GROUP BY name
),
clients_today AS (
    SELECT platform, app_version, count(*) AS games, count(*) FILTER (verdict = 'flagged') AS flagged
    FROM today
    GROUP BY platform, app_version
),
clients_before AS (
    SELECT platform, app_version, count(*) AS games, count(*) FILTER (verdict = 'flagged') AS flagged
    FROM before
    GROUP BY platform, app_version
),
compared AS (
    SELECT
        'reason' AS kind,
        t.name,
        t.flagged,
        (SELECT count(*) FROM today) AS games,
        coalesce(b.flagged, 0) AS usual_flagged,
        all_before.games AS usual_games,
        'itself' AS usual_of
    FROM reasons_today AS t
    CROSS JOIN all_before
    LEFT JOIN reasons_before AS b ON b.name = t.name
    UNION ALL
    SELECT
        'client' AS kind,
        t.platform || ' ' || t.app_version AS name,
        t.flagged,
        t.games,
        coalesce(b.flagged, all_before.flagged) AS usual_flagged,
        coalesce(b.games, all_before.games) AS usual_games,
        CASE WHEN b.games IS NULL THEN 'all clients' ELSE 'itself' END AS usual_of
    FROM clients_today AS t
    CROSS JOIN all_before
    LEFT JOIN clients_before AS b ON b.platform = t.platform AND b.app_version = t.app_version
)
-- In whole numbers, so that a rate on the very border is decided alike everywhere.
SELECT *
FROM compared
WHERE flagged >= $least
    AND usual_games > 0
    AND flagged::HUGEINT * usual_games > $times::HUGEINT * usual_flagged * games
ORDER BY kind DESC, flagged DESC, name
LIMIT 100;
