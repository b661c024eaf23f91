-- Grain: one row per leaderboard and person on it.  People only; equal totals share a position.
CREATE TABLE keyed.leaderboard AS
WITH people AS (
    SELECT player_key, nation FROM keyed.players WHERE player_kind = 'human'
),
standings AS (
    SELECT * FROM keyed.totals
    UNION ALL
    SELECT * FROM keyed.totals_month
),
of_people AS (
    SELECT standings.*, people.nation
    FROM standings
    JOIN people ON people.player_key = standings.player_key
),
on_boards AS (
    SELECT boards.board_key, of_people.player_key, of_people.total, of_people.challenges, of_people.reached_at
    FROM of_people
    JOIN keyed.boards
        ON boards.period_key = of_people.period_key
        AND boards.scope = 'world'
    UNION ALL
    SELECT boards.board_key, of_people.player_key, of_people.total, of_people.challenges, of_people.reached_at
    FROM of_people
    JOIN keyed.boards
        ON boards.period_key = of_people.period_key
        AND boards.scope = 'nation'
        AND boards.nation = of_people.nation
)
SELECT
    board_key,
    row_number() OVER (PARTITION BY board_key ORDER BY total DESC, reached_at, player_key) AS ordinal,
    rank() OVER (PARTITION BY board_key ORDER BY total DESC) AS position,
    player_key,
    total,
    challenges,
    reached_at
FROM on_boards
ORDER BY board_key, ordinal;

CREATE VIEW leaderboard AS
SELECT
    boards.game,
    boards.scope,
    boards.nation,
    boards.period,
    boards.month,
    rows.ordinal,
    rows.position,
    players.player_id,
    players.nation AS player_nation,
    rows.total,
    rows.challenges,
    rows.reached_at
FROM keyed.leaderboard AS rows
JOIN keyed.boards ON boards.board_key = rows.board_key
JOIN keyed.players ON players.player_key = rows.player_key;
