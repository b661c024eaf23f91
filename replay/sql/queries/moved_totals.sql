-- Grain: one row per game and player whose total, or position on the world's board of all time, differs between the warehouses.
CREATE TEMP TABLE moved_totals AS
WITH before_positions AS (
    SELECT boards.period_key, rows.player_key, rows.position
    FROM earlier.keyed.leaderboard AS rows
    JOIN earlier.keyed.boards AS boards ON boards.board_key = rows.board_key
    WHERE boards.scope = 'world'
        AND boards.period = 'all_time'
),
after_positions AS (
    SELECT boards.period_key, rows.player_key, rows.position
    FROM later.keyed.leaderboard AS rows
    JOIN later.keyed.boards AS boards ON boards.board_key = rows.board_key
    WHERE boards.scope = 'world'
        AND boards.period = 'all_time'
),
before_totals AS (
    SELECT periods.game, people.person, totals.total, positions.position
    FROM earlier.keyed.totals AS totals
    JOIN earlier.keyed.periods AS periods ON periods.period_key = totals.period_key
    JOIN moved_people AS people ON people.before_key = totals.player_key
    LEFT JOIN before_positions AS positions
        ON positions.period_key = totals.period_key
        AND positions.player_key = totals.player_key
),
after_totals AS (
    SELECT periods.game, people.person, totals.total, positions.position
    FROM later.keyed.totals AS totals
    JOIN later.keyed.periods AS periods ON periods.period_key = totals.period_key
    JOIN moved_people AS people ON people.after_key = totals.player_key
    LEFT JOIN after_positions AS positions
        ON positions.period_key = totals.period_key
        AND positions.player_key = totals.player_key
)
SELECT
    coalesce(after_totals.game, before_totals.game) AS game,
    coalesce(after_totals.person, before_totals.person) AS person,
    before_totals.total AS total_before,
    after_totals.total AS total_after,
    before_totals.position AS position_before,
    after_totals.position AS position_after
FROM before_totals
FULL JOIN after_totals
    ON after_totals.game = before_totals.game
    AND after_totals.person = before_totals.person
WHERE before_totals.total IS DISTINCT FROM after_totals.total
    OR before_totals.position IS DISTINCT FROM after_totals.position;
