-- Grain: one row: the positions of all totals, and nothing else, read to the end.
WITH totals AS (SELECT player_key, sum(score) AS total FROM keyed.daily_best GROUP BY player_key)
SELECT sum(position)
FROM (SELECT rank() OVER (ORDER BY total DESC) AS position FROM totals);
