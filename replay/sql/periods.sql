-- Grain: one row per game and period: all time, and each month with at least one game that counts.
CREATE TABLE keyed.periods AS
WITH spans AS (
    SELECT game, 'all_time' AS period, CAST(NULL AS VARCHAR) AS month, day, day AS last_day, rules_versions
    FROM keyed.challenges
    UNION ALL
    SELECT game, 'month' AS period, month, day, last_day(day) AS last_day, rules_versions
    FROM keyed.challenges
),
summed AS (
    SELECT
        game,
        period,
        month,
        count(*) AS challenges,
        list_sort(list_distinct(flatten(list(rules_versions)))) AS rules_versions,
        -- Uploads are taken until three days after a challenge's end, which is 12 hours into the day after its own.
        max(last_day) + 4 AS final_from
    FROM spans
    GROUP BY game, period, month
)
SELECT
    CAST(row_number() OVER (ORDER BY game, period, month) AS INTEGER) AS period_key,
    game,
    period,
    month,
    challenges,
    rules_versions,
    final_from,
    CASE WHEN CAST(getvariable('as_of') AS DATE) >= final_from THEN 'final' ELSE 'provisional' END AS status
FROM summed
ORDER BY period_key;

CREATE VIEW periods AS
SELECT game, period, month, challenges, rules_versions, final_from, status
FROM keyed.periods;
