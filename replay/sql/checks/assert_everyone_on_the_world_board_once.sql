-- Grain: one row per period and person whose total does not stand on the world's leaderboard exactly once, as it is.
WITH people_totals AS (
    SELECT totals.period_key, totals.player_key, totals.total, totals.challenges, totals.reached_at
    FROM (FROM keyed.totals UNION ALL FROM keyed.totals_month) AS totals
    JOIN keyed.players ON players.player_key = totals.player_key AND players.player_kind = 'human'
),
world_rows AS (
    SELECT boards.period_key, rows.player_key, rows.total, rows.challenges, rows.reached_at
    FROM keyed.leaderboard AS rows
    JOIN keyed.boards ON boards.board_key = rows.board_key AND boards.scope = 'world'
),
tallied AS (
    SELECT *, 1 AS in_totals, 0 AS on_board FROM people_totals
    UNION ALL
    SELECT *, 0 AS in_totals, 1 AS on_board FROM world_rows
)
SELECT period_key, player_key, total, sum(in_totals) AS in_totals, sum(on_board) AS on_board
FROM tallied
GROUP BY period_key, player_key, total, challenges, reached_at
HAVING sum(in_totals) <> 1
    OR sum(on_board) <> 1;
