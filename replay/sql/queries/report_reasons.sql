-- Grain: one row a reason: flagged games of the day and of the nights before, with all games of both.
WITH today AS (
    SELECT * FROM read_parquet($today, hive_partitioning = false, union_by_name = true) WHERE verdict <> 'copy'
),
before AS (
    SELECT * FROM read_parquet($before, hive_partitioning = false, union_by_name = true) WHERE verdict <> 'copy'
),
today_reasons AS (
    SELECT unnest(reason_codes) AS name, count(*) AS flagged FROM today WHERE verdict = 'flagged' GROUP BY name
),
before_reasons AS (
    SELECT unnest(reason_codes) AS name, count(*) AS flagged FROM before WHERE verdict = 'flagged' GROUP BY name
)
SELECT
    coalesce(today_reasons.name, before_reasons.name) AS name,
    coalesce(today_reasons.flagged, 0) AS flagged,
    (SELECT count(*) FROM today) AS games,
    coalesce(before_reasons.flagged, 0) AS usual_flagged,
    (SELECT count(*) FROM before) AS usual_games
FROM today_reasons
FULL JOIN before_reasons ON before_reasons.name = today_reasons.name
ORDER BY flagged DESC, name;
