-- Grain: one row per game and player whose total, count of challenges or time reached differs from their daily bests'.
WITH summed AS (
    SELECT
        periods.period_key,
        best.player_key,
        sum(best.score) AS total,
        count(*) AS challenges,
        max(best.finished_at) AS reached_at
    FROM keyed.daily_best AS best
    JOIN keyed.challenges ON challenges.challenge_key = best.challenge_key
    JOIN keyed.periods ON periods.game = challenges.game AND periods.period = 'all_time'
    GROUP BY periods.period_key, best.player_key
)
SELECT
    coalesce(summed.period_key, totals.period_key) AS period_key,
    coalesce(summed.player_key, totals.player_key) AS player_key,
    summed.total AS sum_of_daily_bests,
    totals.total
FROM summed
FULL JOIN keyed.totals
    ON totals.period_key = summed.period_key
    AND totals.player_key = summed.player_key
WHERE summed.total IS DISTINCT FROM totals.total
    OR summed.challenges IS DISTINCT FROM totals.challenges
    OR summed.reached_at IS DISTINCT FROM totals.reached_at;
