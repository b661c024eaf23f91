-- Grain: one row: what the standings were made from.
SELECT
    as_of,
    verdict_rows,
    rows_by_verdict,
    counted_rows,
    eligible_games,
    rules_versions,
    ai_in_percentile,
    reviews_through,
    games_upheld,
    games_cleared,
    releases_through,
    games_released
FROM publication;
