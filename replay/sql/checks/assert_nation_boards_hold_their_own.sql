-- Grain: one row per period and person who stands on another nation's leaderboard, on several, or not on their own.
WITH people_totals AS (
    SELECT totals.period_key, totals.player_key, players.nation, totals.total
    FROM (FROM keyed.totals UNION ALL FROM keyed.totals_month) AS totals
    JOIN keyed.players ON players.player_key = totals.player_key
    WHERE players.player_kind = 'human'
        AND players.nation IS NOT NULL
),
nation_rows AS (
    SELECT boards.period_key, rows.player_key, boards.nation, rows.total
    FROM keyed.leaderboard AS rows
    JOIN keyed.boards ON boards.board_key = rows.board_key AND boards.scope = 'nation'
),
tallied AS (
    SELECT *, 1 AS in_totals, 0 AS on_board FROM people_totals
    UNION ALL
    SELECT *, 0 AS in_totals, 1 AS on_board FROM nation_rows
)
SELECT period_key, player_key, nation, total, sum(in_totals) AS in_totals, sum(on_board) AS on_board
FROM tallied
GROUP BY period_key, player_key, nation, total
HAVING sum(in_totals) <> 1
    OR sum(on_board) <> 1;
