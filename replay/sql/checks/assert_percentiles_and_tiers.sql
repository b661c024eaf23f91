-- Grain: one row per challenge and score whose percentile is no share of the others, or whose tier is not the highest reached.
WITH reached AS (
    SELECT
        levels.challenge_key,
        levels.score,
        levels.beaten,
        levels.others,
        levels.percentile,
        levels.tier,
        max_by(rank_tiers.tier, rank_tiers.min_percentile) AS expected_tier
    FROM keyed.score_levels AS levels
    LEFT JOIN rank_tiers ON 100 * levels.beaten >= rank_tiers.min_percentile * levels.others
    GROUP BY ALL
)
SELECT *
FROM reached
WHERE tier IS DISTINCT FROM expected_tier
    OR beaten < 0
    OR beaten > others
    OR percentile NOT BETWEEN 0 AND 100
    OR NOT isfinite(percentile)
    OR (others = 0 AND percentile <> 100)
    OR (others > 0 AND (percentile = 100) <> (beaten = others))
    OR (others > 0 AND abs(percentile * others - 100 * beaten) > 0.000001 * others);
