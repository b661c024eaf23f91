-- Grain: one row per upload that changes, the largest change of the replayed score first.
SELECT * EXCLUDE (source_file, source_line)
FROM changed
ORDER BY
    abs(CAST(coalesce(score_after, 0) AS HUGEINT) - coalesce(score_before, 0)) DESC,
    counted_before = counted_after,
    verdict_before = verdict_after,
    claimed DESC NULLS LAST,
    day,
    game_id,
    source_file,
    source_line
LIMIT $limit
