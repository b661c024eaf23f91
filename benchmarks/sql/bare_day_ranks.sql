-- Grain: one row: the positions of every day, and nothing else, read to the end.
SELECT sum(position)
FROM (SELECT rank() OVER (PARTITION BY challenge_key ORDER BY score DESC) AS position FROM keyed.daily_best);
