-- Grain: one row per person of a game's weekly digest, of one page by position, with the number of all of them; is_tied: somebody else
-- has the same total.
WITH marked AS (
    SELECT
        sunday, player_id, position, total, challenges, previous_position, change,
        count(*) OVER (PARTITION BY position) > 1 AS is_tied,
        count(*) OVER () AS people
    FROM weekly_digest
    WHERE game = $game
)
SELECT *
FROM marked
ORDER BY position, player_id
LIMIT $limit OFFSET $offset;
