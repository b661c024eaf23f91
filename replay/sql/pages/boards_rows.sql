-- Grain: one row per person of one leaderboard, of one page in display order; is_tied: somebody else has the same total there.
WITH page AS (
    -- One row more than is shown: whether the last one shares its position.
    SELECT ordinal, position, player_id, player_nation, total, challenges, reached_at
    FROM leaderboard
    WHERE game = $game
        AND scope = $scope
        AND nation IS NOT DISTINCT FROM $nation
        AND month IS NOT DISTINCT FROM $month
        AND ordinal > $offset
        AND ordinal <= $offset + $limit + 1
),
marked AS (
    SELECT *, ordinal <> position OR lead(position) OVER (ORDER BY ordinal) IS NOT DISTINCT FROM position AS is_tied
    FROM page
)
SELECT position, is_tied, player_id, player_nation, total, challenges, reached_at
FROM marked
ORDER BY ordinal
LIMIT $limit;
