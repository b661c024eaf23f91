-- Grain: one row per challenge whose ranked players are not those of the percentile's population, each once.
WITH expected AS (
    SELECT best.challenge_key, count(*) AS players
    FROM keyed.daily_best AS best
    JOIN keyed.players ON players.player_key = best.player_key
    CROSS JOIN publication
    WHERE players.player_kind = 'human' OR publication.ai_in_percentile
    GROUP BY best.challenge_key
),
ranked AS (
    SELECT challenges.challenge_key, counts.players, counts.different_players, counts.others
    FROM (
        SELECT game, challenge, count(*) AS players, count(DISTINCT player_id) AS different_players, max(others) AS others
        FROM daily_ranking
        GROUP BY game, challenge
    ) AS counts
    JOIN keyed.challenges
        ON challenges.game = counts.game
        AND challenges.challenge = counts.challenge
)
SELECT
    coalesce(expected.challenge_key, ranked.challenge_key) AS challenge_key,
    expected.players AS expected,
    ranked.players AS ranked,
    ranked.different_players,
    ranked.others
FROM expected
FULL JOIN ranked ON ranked.challenge_key = expected.challenge_key
WHERE expected.players IS DISTINCT FROM ranked.players
    OR expected.players IS DISTINCT FROM ranked.different_players
    OR expected.players - 1 IS DISTINCT FROM ranked.others;
