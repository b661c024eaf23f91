-- Grain: one row per leaderboard with at least one person: game, world or one nation, all time or one month.
CREATE TABLE keyed.boards AS
WITH people AS (
    SELECT player_key, nation FROM keyed.players WHERE player_kind = 'human'
),
standings AS (
    SELECT totals.period_key, people.nation
    FROM keyed.totals
    JOIN people ON people.player_key = totals.player_key
    UNION ALL
    SELECT totals_month.period_key, people.nation
    FROM keyed.totals_month
    JOIN people ON people.player_key = totals_month.player_key
),
nations AS (
    SELECT period_key, nation, count(*) AS people
    FROM standings
    GROUP BY period_key, nation
),
boards AS (
    SELECT period_key, 'world' AS scope, CAST(NULL AS VARCHAR) AS nation, CAST(sum(people) AS BIGINT) AS people
    FROM nations
    GROUP BY period_key
    UNION ALL
    SELECT period_key, 'nation' AS scope, nation, people
    FROM nations
    WHERE nation IS NOT NULL
)
SELECT
    CAST(row_number() OVER (
        ORDER BY periods.game, boards.scope, boards.nation, periods.period, periods.month
    ) AS INTEGER) AS board_key,
    boards.period_key,
    periods.game,
    boards.scope,
    boards.nation,
    periods.period,
    periods.month,
    boards.people
FROM boards
JOIN keyed.periods ON periods.period_key = boards.period_key
ORDER BY board_key;

CREATE VIEW boards AS
SELECT game, scope, nation, period, month, people
FROM keyed.boards;
