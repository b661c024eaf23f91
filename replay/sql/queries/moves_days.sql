-- Grain: one row per game, challenge and player whose best, position or rank tier moved, the largest change first.
SELECT
    moved.game,
    moved.challenge,
    people.player_id,
    moved.score_before,
    moved.score_after,
    moved.position_before,
    moved.position_after,
    moved.tier_before,
    moved.tier_after
FROM moved_days AS moved
JOIN moved_people AS people ON people.person = moved.person
ORDER BY
    abs(CAST(coalesce(moved.score_after, 0) AS HUGEINT) - coalesce(moved.score_before, 0)) DESC,
    abs(moved.position_after - moved.position_before) DESC NULLS LAST,
    moved.game,
    moved.challenge DESC,
    people.player_id
LIMIT $limit;
