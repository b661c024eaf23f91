-- Grain: one row per leaderboard whose number of people is not that of its rows.
WITH counted AS (
    SELECT board_key, count(*) AS people
    FROM keyed.leaderboard
    GROUP BY board_key
)
SELECT coalesce(counted.board_key, boards.board_key) AS board_key, boards.people, counted.people AS rows_of_people
FROM counted
FULL JOIN keyed.boards ON boards.board_key = counted.board_key
WHERE counted.people IS DISTINCT FROM boards.people;
