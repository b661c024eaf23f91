-- Grain: one row if the publication is not one row, or its counts do not add up to the verdict rows and reviews it was made from.
WITH read_rows AS (
    SELECT count(*) AS verdict_rows FROM verdict_rows
),
judged AS (
    SELECT
        count(*) FILTER (WHERE counts AND NOT counted) AS counted_by_review,
        count(*) FILTER (WHERE state = 'upheld') AS games_upheld,
        count(*) FILTER (WHERE state = 'cleared') AS games_cleared
    FROM judged_rows
),
released AS (
    SELECT count(*) AS games_released FROM released_rows
),
published AS (
    SELECT
        count(*) AS publications,
        max(verdict_rows) AS verdict_rows,
        max(list_sum(map_values(rows_by_verdict))) AS rows_by_verdict,
        max(counted_rows) AS counted_rows,
        max(eligible_games) AS eligible_games,
        max(reviews_through) AS reviews_through,
        max(games_upheld) AS games_upheld,
        max(games_cleared) AS games_cleared,
        max(releases_through) AS releases_through,
        max(games_released) AS games_released
    FROM publication
)
SELECT read_rows.verdict_rows AS rows_read, published.*
FROM read_rows
CROSS JOIN judged
CROSS JOIN released
CROSS JOIN published
WHERE published.publications <> 1
    OR published.verdict_rows <> read_rows.verdict_rows
    OR coalesce(published.rows_by_verdict, 0) <> published.verdict_rows
    OR published.counted_rows > published.verdict_rows
    OR published.eligible_games > published.counted_rows + judged.counted_by_review
    OR published.reviews_through IS DISTINCT FROM CAST(getvariable('reviews_through') AS BIGINT)
    OR published.games_upheld IS DISTINCT FROM judged.games_upheld
    OR published.games_cleared IS DISTINCT FROM judged.games_cleared
    OR published.releases_through IS DISTINCT FROM CAST(getvariable('releases_through') AS BIGINT)
    OR published.games_released IS DISTINCT FROM released.games_released;
