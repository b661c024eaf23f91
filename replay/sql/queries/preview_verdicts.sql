-- Grain: one row per pair of verdicts, published and new, with the number of games that change so; the most frequent first.
SELECT verdict_before, verdict_after, count(*) AS games
FROM changed
GROUP BY verdict_before, verdict_after
ORDER BY games DESC, verdict_before, verdict_after
