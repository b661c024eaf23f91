-- Grain: one row: what these standings were made from.
CREATE TABLE publication AS
WITH by_verdict AS (
    SELECT verdict, count(*) AS verdict_rows, count(*) FILTER (WHERE counted) AS counted_rows
    FROM verdict_rows
    GROUP BY verdict
),
verdicts AS (
    SELECT
        CAST(coalesce(sum(verdict_rows), 0) AS BIGINT) AS verdict_rows,
        map_from_entries(coalesce(list((verdict, verdict_rows) ORDER BY verdict), [])) AS rows_by_verdict,
        CAST(coalesce(sum(counted_rows), 0) AS BIGINT) AS counted_rows
    FROM by_verdict
),
reviews AS (
    SELECT
        count(*) FILTER (WHERE state = 'upheld') AS games_upheld,
        count(*) FILTER (WHERE state = 'cleared') AS games_cleared
    FROM judged_rows
),
released AS (
    SELECT count(*) AS games_released FROM released_rows
),
versions AS (
    SELECT
        CAST(coalesce(sum(games_counted), 0) AS BIGINT) AS eligible_games,
        coalesce(list_sort(list_distinct(flatten(list(rules_versions)))), []) AS rules_versions
    FROM keyed.challenges
)
SELECT
    CAST(getvariable('as_of') AS DATE) AS as_of,
    verdicts.verdict_rows,
    verdicts.rows_by_verdict,
    verdicts.counted_rows,
    versions.eligible_games,
    versions.rules_versions,
    CAST(getvariable('ai_in_percentile') AS BOOLEAN) AS ai_in_percentile,
    CAST(getvariable('reviews_through') AS BIGINT) AS reviews_through,
    reviews.games_upheld,
    reviews.games_cleared,
    CAST(getvariable('releases_through') AS BIGINT) AS releases_through,
    released.games_released
FROM verdicts
CROSS JOIN reviews
CROSS JOIN released
CROSS JOIN versions;
