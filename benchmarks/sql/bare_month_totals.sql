-- Grain: one row: the positions of all totals of each month, and nothing else, read to the end.
WITH totals AS (
    SELECT challenges.month, best.player_key, sum(best.score) AS total
    FROM keyed.daily_best AS best
    JOIN keyed.challenges ON challenges.challenge_key = best.challenge_key
    GROUP BY challenges.month, best.player_key
)
SELECT sum(position)
FROM (SELECT rank() OVER (PARTITION BY month ORDER BY total DESC) AS position FROM totals);
