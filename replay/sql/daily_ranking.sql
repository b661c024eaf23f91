-- Grain: keyed.score_levels one row per challenge and distinct score among the ranked players; daily_ranking one per ranked
-- player.  Position, percentile and tier depend on the day's score alone, so players with equal scores cannot differ, and a
-- day is ranked by sorting its scores instead of its players.
CREATE TABLE keyed.score_levels AS
WITH counts AS (
    SELECT challenge_key, score, count(*) AS players
    FROM keyed.daily_best
    ANTI JOIN (SELECT player_key FROM keyed.players WHERE NOT in_percentile) USING (player_key)
    GROUP BY challenge_key, score
),
-- One running count over all challenges, less the players of the challenges before: far cheaper than a count a challenge.
running AS (
    SELECT
        challenge_key,
        score,
        players,
        CAST(sum(players) OVER (ORDER BY challenge_key, score DESC ROWS UNBOUNDED PRECEDING) AS BIGINT) AS players_so_far
    FROM counts
),
populations AS (
    SELECT
        challenge_key,
        min(players_so_far - players) AS players_before,
        max(players_so_far) - players_before AS population
    FROM running
    GROUP BY challenge_key
),
placed AS (
    SELECT
        running.challenge_key,
        running.score,
        running.players,
        running.players_so_far - running.players - populations.players_before + 1 AS position,
        populations.population - (running.players_so_far - populations.players_before) AS beaten,
        populations.population - 1 AS others
    FROM running
    JOIN populations ON populations.challenge_key = running.challenge_key
),
-- 100 * beaten >= min_percentile * others, solved for the smallest whole number of beaten players.
thresholds AS (
    SELECT
        populations.challenge_key,
        (rank_tiers.min_percentile * (populations.population - 1) + 99) // 100 AS beaten_needed,
        max_by(rank_tiers.tier, rank_tiers.min_percentile) AS tier
    FROM populations
    CROSS JOIN rank_tiers
    GROUP BY populations.challenge_key, beaten_needed
)
SELECT
    placed.challenge_key,
    placed.score,
    placed.players,
    placed.position,
    placed.beaten,
    placed.others,
    CASE WHEN placed.others = 0 THEN 100.0 ELSE CAST(100 * placed.beaten AS DOUBLE) / placed.others END AS percentile,
    thresholds.tier
FROM placed
ASOF JOIN thresholds
    ON thresholds.challenge_key = placed.challenge_key
    AND placed.beaten >= thresholds.beaten_needed
ORDER BY challenge_key, score DESC;

CREATE VIEW daily_ranking AS
SELECT
    challenges.game,
    challenges.challenge,
    players.player_id,
    players.nation,
    players.player_kind,
    best.score,
    best.attempt,
    best.game_id,
    levels.position,
    levels.beaten,
    levels.others,
    levels.percentile,
    levels.tier
FROM keyed.daily_best AS best
JOIN keyed.challenges ON challenges.challenge_key = best.challenge_key
JOIN keyed.players ON players.player_key = best.player_key AND players.in_percentile
JOIN keyed.score_levels AS levels
    ON levels.challenge_key = best.challenge_key
    AND levels.score = best.score;
