-- Grain: one row per game and player: the sum of the best score of every challenge.
CREATE TABLE keyed.totals AS
WITH months AS (
    SELECT months.period_key AS month_key, all_time.period_key
    FROM keyed.periods AS months
    JOIN keyed.periods AS all_time
        ON all_time.game = months.game
        AND all_time.period = 'all_time'
    WHERE months.period = 'month'
)
SELECT
    months.period_key,
    by_month.player_key,
    CAST(sum(by_month.total) AS BIGINT) AS total,
    CAST(sum(by_month.challenges) AS BIGINT) AS challenges,
    max(by_month.reached_at) AS reached_at
FROM keyed.totals_month AS by_month
JOIN months ON months.month_key = by_month.period_key
GROUP BY months.period_key, by_month.player_key
ORDER BY period_key, player_key;

CREATE VIEW totals AS
SELECT periods.game, players.player_id, totals.total, totals.challenges, totals.reached_at
FROM keyed.totals
JOIN keyed.periods ON periods.period_key = totals.period_key
JOIN keyed.players ON players.player_key = totals.player_key;
