-- Grain: one row per nation with a leaderboard of the game and period, most people first; the world's has no nation and comes first.
SELECT nation, people
FROM boards
WHERE game = $game
    AND month IS NOT DISTINCT FROM $month
ORDER BY nation IS NOT NULL, people DESC, nation;
