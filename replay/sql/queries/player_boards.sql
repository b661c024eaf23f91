-- Grain: one row per leaderboard that the player stands on: all time first, then the newest month; world before nation.
SELECT
    leaderboard.game,
    leaderboard.scope,
    leaderboard.nation,
    leaderboard.period,
    leaderboard.month,
    leaderboard.position,
    leaderboard.ordinal,
    boards.people,
    leaderboard.total,
    leaderboard.challenges,
    leaderboard.reached_at
FROM leaderboard
JOIN boards
    ON boards.game = leaderboard.game
    AND boards.scope = leaderboard.scope
    AND boards.nation IS NOT DISTINCT FROM leaderboard.nation
    AND boards.period = leaderboard.period
    AND boards.month IS NOT DISTINCT FROM leaderboard.month
WHERE leaderboard.player_id = $player_id
ORDER BY leaderboard.game, leaderboard.period, leaderboard.month DESC, leaderboard.scope DESC;
