-- Grain: one row per game, challenge and player whose best, position or rank tier differs between the warehouses.
CREATE TEMP TABLE moved_days AS
WITH challenges AS (
    SELECT
        row_number() OVER (ORDER BY game, challenge) AS number,
        game,
        challenge,
        before_days.challenge_key AS before_key,
        after_days.challenge_key AS after_key
    FROM earlier.keyed.challenges AS before_days
    FULL JOIN later.keyed.challenges AS after_days USING (game, challenge)
),
before_bests AS (
    SELECT challenges.number, people.person, best.score, best.game_id, levels.position, levels.tier
    FROM earlier.keyed.daily_best AS best
    JOIN challenges ON challenges.before_key = best.challenge_key
    JOIN moved_people AS people ON people.before_key = best.player_key
    JOIN earlier.keyed.players AS players ON players.player_key = best.player_key
    LEFT JOIN earlier.keyed.score_levels AS levels
        ON levels.challenge_key = best.challenge_key
        AND levels.score = best.score
        AND players.in_percentile
),
after_bests AS (
    SELECT challenges.number, people.person, best.score, best.game_id, levels.position, levels.tier
    FROM later.keyed.daily_best AS best
    JOIN challenges ON challenges.after_key = best.challenge_key
    JOIN moved_people AS people ON people.after_key = best.player_key
    JOIN later.keyed.players AS players ON players.player_key = best.player_key
    LEFT JOIN later.keyed.score_levels AS levels
        ON levels.challenge_key = best.challenge_key
        AND levels.score = best.score
        AND players.in_percentile
),
moved AS (
    SELECT
        number,
        person,
        before_bests.score AS score_before,
        after_bests.score AS score_after,
        before_bests.game_id IS DISTINCT FROM after_bests.game_id OR score_before IS DISTINCT FROM score_after AS is_other_best,
        before_bests.position AS position_before,
        after_bests.position AS position_after,
        before_bests.tier AS tier_before,
        after_bests.tier AS tier_after
    FROM before_bests
    FULL JOIN after_bests USING (number, person)
    WHERE is_other_best
        OR position_before IS DISTINCT FROM position_after
        OR tier_before IS DISTINCT FROM tier_after
)
SELECT challenges.game, challenges.challenge, moved.* EXCLUDE (number)
FROM moved
JOIN challenges ON challenges.number = moved.number;
