-- Grain: one row per game and person whose digest differs from the daily bests up to its Sunday and the one before.
WITH sundays AS (
    SELECT as_of - CAST(dayofweek(as_of) AS INTEGER) AS sunday
    FROM publication
    WHERE as_of IS NOT NULL
),
summed AS (
    SELECT
        periods.period_key,
        best.player_key,
        sundays.sunday,
        sum(best.score) AS total,
        sum(best.score) FILTER (WHERE challenges.day <= sundays.sunday - 7) AS previous_total
    FROM keyed.daily_best AS best
    JOIN keyed.challenges ON challenges.challenge_key = best.challenge_key
    JOIN keyed.periods ON periods.game = challenges.game AND periods.period = 'all_time'
    JOIN keyed.players ON players.player_key = best.player_key AND players.player_kind = 'human'
    JOIN sundays ON challenges.day <= sundays.sunday
    GROUP BY periods.period_key, best.player_key, sundays.sunday
)
SELECT
    coalesce(summed.period_key, digest.period_key) AS period_key,
    coalesce(summed.player_key, digest.player_key) AS player_key,
    summed.total AS sum_of_daily_bests,
    digest.total,
    summed.previous_total AS sum_a_week_before,
    digest.previous_total,
    digest.change
FROM summed
FULL JOIN keyed.weekly_digest AS digest
    ON digest.period_key = summed.period_key
    AND digest.player_key = summed.player_key
    AND digest.sunday = summed.sunday
WHERE summed.total IS DISTINCT FROM digest.total
    OR summed.previous_total IS DISTINCT FROM digest.previous_total
    OR digest.change IS DISTINCT FROM summed.total - coalesce(summed.previous_total, 0);
