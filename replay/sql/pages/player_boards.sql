-- Grain: one row per leaderboard that the player stands on, all time first, then the newest month, world before nation; is_tied:
-- somebody else has the same total there.
WITH own AS (
    SELECT rows.*
    FROM keyed.leaderboard AS rows
    JOIN keyed.players ON players.player_key = rows.player_key
    WHERE players.player_id = $player_id
),
marked AS (
    SELECT own.*, own.ordinal <> own.position OR following.position IS NOT DISTINCT FROM own.position AS is_tied
    FROM own
    LEFT JOIN keyed.leaderboard AS following
        ON following.board_key = own.board_key
        AND following.ordinal = own.ordinal + 1
)
SELECT
    boards.game, boards.scope, boards.nation, boards.period, boards.month, marked.position, marked.is_tied, boards.people, marked.total,
    marked.challenges, marked.reached_at
FROM marked
JOIN keyed.boards ON boards.board_key = marked.board_key
ORDER BY boards.game, boards.period, boards.month DESC, boards.scope DESC;
