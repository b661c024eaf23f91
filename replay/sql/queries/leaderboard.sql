-- Grain: one row per person of one leaderboard, in display order.
SELECT ordinal, position, player_id, player_nation, total, challenges, reached_at
FROM leaderboard
WHERE game = $game
    AND scope = $scope
    AND nation IS NOT DISTINCT FROM $nation
    AND period = $period
    AND month IS NOT DISTINCT FROM $month
ORDER BY ordinal
LIMIT $limit OFFSET $offset;
