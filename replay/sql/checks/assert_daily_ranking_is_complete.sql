-- Grain: one row per game and challenge whose ranking, as it is read, is not that of its scores: every ranked player, once.
WITH as_read AS (
    SELECT game, challenge, count(*) AS players, sum(score) AS scores, sum(position) AS positions, sum(beaten) AS beaten
    FROM daily_ranking
    GROUP BY game, challenge
),
by_score AS (
    SELECT
        challenges.game,
        challenges.challenge,
        sum(levels.players) AS players,
        sum(CAST(levels.players AS HUGEINT) * levels.score) AS scores,
        sum(CAST(levels.players AS HUGEINT) * levels.position) AS positions,
        sum(CAST(levels.players AS HUGEINT) * levels.beaten) AS beaten
    FROM keyed.score_levels AS levels
    JOIN keyed.challenges ON challenges.challenge_key = levels.challenge_key
    GROUP BY challenges.game, challenges.challenge
)
SELECT
    coalesce(by_score.game, as_read.game) AS game,
    coalesce(by_score.challenge, as_read.challenge) AS challenge,
    by_score.players AS players_by_score,
    as_read.players AS players_as_read,
    by_score.positions AS positions_by_score,
    as_read.positions AS positions_as_read
FROM by_score
FULL JOIN as_read
    ON as_read.game = by_score.game
    AND as_read.challenge = by_score.challenge
WHERE by_score.players IS DISTINCT FROM as_read.players
    OR by_score.scores IS DISTINCT FROM as_read.scores
    OR by_score.positions IS DISTINCT FROM as_read.positions
    OR by_score.beaten IS DISTINCT FROM as_read.beaten;
