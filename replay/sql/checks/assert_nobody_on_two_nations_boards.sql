-- Grain: one row per player who stands on the leaderboards of more than one nation.
SELECT rows.player_key, min(boards.nation) AS nation, max(boards.nation) AS other_nation
FROM keyed.leaderboard AS rows
JOIN keyed.boards ON boards.board_key = rows.board_key
WHERE boards.scope = 'nation'
GROUP BY rows.player_key
HAVING min(boards.nation) <> max(boards.nation);
