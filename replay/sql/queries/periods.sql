-- Grain: one row per game and period, all time first, then the newest month.
SELECT game, period, month, challenges, rules_versions, final_from, status
FROM periods
WHERE $game IS NULL OR game = $game
ORDER BY game, period, month DESC;
