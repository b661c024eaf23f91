-- Grain: one row: how many games change, and in what.
SELECT
    count(*) AS games,
    count(DISTINCT player_id) AS players,
    count(*) FILTER (verdict_before IS DISTINCT FROM verdict_after) AS verdicts,
    count(*) FILTER (reasons_before <> reasons_after) AS reasons,
    count(*) FILTER (score_before IS DISTINCT FROM score_after) AS scores,
    count(*) FILTER (counted_before AND NOT counted_after) AS counted_no_longer,
    count(*) FILTER (counted_after AND NOT counted_before) AS counted_from_now
FROM changed
