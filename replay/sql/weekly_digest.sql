-- Grain: one row per game and person with a challenge up to the latest Sunday: where they stand, and since the Sunday before.
CREATE TABLE keyed.weekly_digest AS
WITH sundays AS (
    -- dayofweek() is 0 on a Sunday.
    SELECT as_of - CAST(dayofweek(as_of) AS INTEGER) AS sunday, sunday - 7 AS previous_sunday
    FROM (SELECT CAST(getvariable('as_of') AS DATE) AS as_of)
    WHERE as_of IS NOT NULL
),
-- Only the newest days are read again: a total up to a Sunday is the total less what came after it.
newest AS (
    SELECT
        periods.period_key,
        best.player_key,
        coalesce(sum(best.score) FILTER (WHERE challenges.day > sundays.sunday), 0) AS later_total,
        count(*) FILTER (WHERE challenges.day > sundays.sunday) AS later_challenges,
        sum(best.score) AS newest_total,
        count(*) AS newest_challenges
    FROM keyed.daily_best AS best
    JOIN keyed.challenges ON challenges.challenge_key = best.challenge_key
    JOIN keyed.periods ON periods.game = challenges.game AND periods.period = 'all_time'
    JOIN sundays ON challenges.day > sundays.previous_sunday
    GROUP BY periods.period_key, best.player_key
),
at_sundays AS (
    SELECT
        totals.period_key,
        totals.player_key,
        CAST(totals.total - coalesce(newest.later_total, 0) AS BIGINT) AS total,
        totals.challenges - coalesce(newest.later_challenges, 0) AS challenges,
        CAST(totals.total - coalesce(newest.newest_total, 0) AS BIGINT) AS previous_total,
        totals.challenges - coalesce(newest.newest_challenges, 0) AS previous_challenges
    FROM keyed.totals
    JOIN keyed.players ON players.player_key = totals.player_key AND players.player_kind = 'human'
    LEFT JOIN newest
        ON newest.period_key = totals.period_key
        AND newest.player_key = totals.player_key
),
-- Whoever had played nothing by a Sunday stood nowhere on it, whatever the sum says.
positions AS (
    SELECT *, rank() OVER (PARTITION BY period_key ORDER BY total DESC) AS position
    FROM at_sundays
    WHERE challenges > 0
),
previous_positions AS (
    SELECT
        period_key,
        player_key,
        previous_total,
        rank() OVER (PARTITION BY period_key ORDER BY previous_total DESC) AS previous_position
    FROM at_sundays
    WHERE previous_challenges > 0
)
SELECT
    positions.period_key,
    sundays.sunday,
    positions.player_key,
    positions.position,
    positions.total,
    positions.challenges,
    previous_positions.previous_position,
    previous_positions.previous_total,
    positions.total - coalesce(previous_positions.previous_total, 0) AS change
FROM positions
CROSS JOIN sundays
LEFT JOIN previous_positions
    ON previous_positions.period_key = positions.period_key
    AND previous_positions.player_key = positions.player_key
ORDER BY period_key, player_key;

CREATE VIEW weekly_digest AS
SELECT
    periods.game,
    digest.sunday,
    players.player_id,
    digest.position,
    digest.total,
    digest.challenges,
    digest.previous_position,
    digest.previous_total,
    digest.change
FROM keyed.weekly_digest AS digest
JOIN keyed.periods ON periods.period_key = digest.period_key
JOIN keyed.players ON players.player_key = digest.player_key;
