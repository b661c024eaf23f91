-- Grain: one row if the publication is not one row, or its counts by verdict do not add up to the verdict rows read.
WITH read_rows AS (
    SELECT count(*) AS verdict_rows FROM verdict_rows
),
published AS (
    SELECT
        count(*) AS publications,
        max(verdict_rows) AS verdict_rows,
        max(list_sum(map_values(rows_by_verdict))) AS rows_by_verdict,
        max(counted_rows) AS counted_rows,
        max(eligible_games) AS eligible_games
    FROM publication
)
SELECT read_rows.verdict_rows AS rows_read, published.*
FROM read_rows
CROSS JOIN published
WHERE published.publications <> 1
    OR published.verdict_rows <> read_rows.verdict_rows
    OR coalesce(published.rows_by_verdict, 0) <> published.verdict_rows
    OR published.counted_rows > published.verdict_rows
    OR published.eligible_games > published.counted_rows;
