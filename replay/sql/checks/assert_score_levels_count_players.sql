-- Grain: one row per challenge and score at which the ranked players are not as many as their daily bests say.
WITH counted AS (
    SELECT best.challenge_key, best.score, count(*) AS players
    FROM keyed.daily_best AS best
    ANTI JOIN (
        SELECT players.player_key
        FROM keyed.players
        CROSS JOIN publication
        WHERE players.player_kind <> 'human'
            AND NOT publication.ai_in_percentile
    ) AS left_out USING (player_key)
    GROUP BY best.challenge_key, best.score
),
levels AS (
    SELECT challenge_key, score, sum(players) AS players
    FROM keyed.score_levels
    GROUP BY challenge_key, score
)
SELECT
    coalesce(counted.challenge_key, levels.challenge_key) AS challenge_key,
    coalesce(counted.score, levels.score) AS score,
    counted.players AS players_of_daily_best,
    levels.players
FROM counted
FULL JOIN levels
    ON levels.challenge_key = counted.challenge_key
    AND levels.score = counted.score
WHERE counted.players IS DISTINCT FROM levels.players;
