-- Grain: one row per game, month and player: the sum of the month's daily bests.
CREATE TABLE keyed.totals_month AS
WITH months AS (
    SELECT challenges.challenge_key, periods.period_key
    FROM keyed.challenges
    JOIN keyed.periods
        ON periods.game = challenges.game
        AND periods.period = 'month'
        AND periods.month = challenges.month
)
SELECT
    months.period_key,
    best.player_key,
    -- sum(BIGINT) is a HUGEINT: the cast refuses a total that BIGINT cannot hold.
    CAST(sum(best.score) AS BIGINT) AS total,
    count(*) AS challenges,
    max(best.finished_at) AS reached_at
FROM keyed.daily_best AS best
JOIN months ON months.challenge_key = best.challenge_key
GROUP BY months.period_key, best.player_key
ORDER BY period_key, player_key;

CREATE VIEW totals_month AS
SELECT periods.game, periods.month, players.player_id, totals.total, totals.challenges, totals.reached_at
FROM keyed.totals_month AS totals
JOIN keyed.periods ON periods.period_key = totals.period_key
JOIN keyed.players ON players.player_key = totals.player_key;
