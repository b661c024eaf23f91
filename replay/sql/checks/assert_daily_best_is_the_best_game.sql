-- Grain: one row per challenge and player with no daily best, several, or one that is not the best of their games that count.
WITH maxima AS (
    SELECT challenge_key, player_key, max(score) AS score
    FROM keyed.eligible_games
    GROUP BY challenge_key, player_key
),
bests AS (
    SELECT challenge_key, player_key, count(*) AS best_rows, max(score) AS score
    FROM keyed.daily_best
    GROUP BY challenge_key, player_key
)
SELECT
    coalesce(maxima.challenge_key, bests.challenge_key) AS challenge_key,
    coalesce(maxima.player_key, bests.player_key) AS player_key,
    maxima.score AS best_of_games,
    bests.score AS daily_best,
    bests.best_rows
FROM maxima
FULL JOIN bests
    ON bests.challenge_key = maxima.challenge_key
    AND bests.player_key = maxima.player_key
WHERE maxima.score IS DISTINCT FROM bests.score
    OR bests.best_rows IS DISTINCT FROM 1;
