-- Grain: one row per game and player whose total or world position of all time moved, the largest change first.
SELECT
    moved.game,
    people.player_id,
    moved.total_before,
    moved.total_after,
    moved.position_before,
    moved.position_after
FROM moved_totals AS moved
JOIN moved_people AS people ON people.person = moved.person
ORDER BY
    abs(CAST(coalesce(moved.total_after, 0) AS HUGEINT) - coalesce(moved.total_before, 0)) DESC,
    abs(moved.position_after - moved.position_before) DESC NULLS LAST,
    moved.game,
    people.player_id
LIMIT $limit;
