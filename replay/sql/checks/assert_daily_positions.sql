-- Grain: one row per challenge and score whose position is not 1 + the players above it, or who beat another number.
WITH scores AS (
    SELECT
        game,
        challenge,
        score,
        count(*) AS players,
        min(position) AS first_position,
        max(position) AS last_position,
        min(beaten) AS fewest_beaten,
        max(beaten) AS most_beaten
    FROM daily_ranking
    GROUP BY game, challenge, score
),
counted AS (
    SELECT
        *,
        coalesce(sum(players) OVER above, 0) AS players_above,
        coalesce(sum(players) OVER below, 0) AS players_below
    FROM scores
    WINDOW
        above AS (
            PARTITION BY game, challenge ORDER BY score DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ),
        below AS (
            PARTITION BY game, challenge ORDER BY score DESC ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
        )
)
SELECT *
FROM counted
WHERE first_position <> 1 + players_above
    OR last_position <> 1 + players_above
    OR fewest_beaten <> players_below
    OR most_beaten <> players_below;
