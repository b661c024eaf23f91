-- Grain: one row per challenge and score whose position is not 1 + the players above it, or who beat another number.
WITH counted AS (
    SELECT
        *,
        sum(players) OVER (PARTITION BY challenge_key ORDER BY score DESC) - players AS players_above,
        sum(players) OVER (PARTITION BY challenge_key) AS population
    FROM keyed.score_levels
)
SELECT challenge_key, score, players, position, beaten, others, players_above, population
FROM counted
WHERE position <> 1 + players_above
    OR beaten <> population - players_above - players
    OR others <> population - 1;
