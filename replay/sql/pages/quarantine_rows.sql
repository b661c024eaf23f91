-- Grain: one row a quarantined record under the filter, newest day first, in the order of files and lines.
SELECT day, game_id, code, reason, source_file, source_line
FROM quarantine
WHERE ($day::DATE IS NULL OR day = $day::DATE)
    AND ($code::VARCHAR IS NULL OR code = $code::VARCHAR)
ORDER BY day DESC, source_file, source_line
LIMIT $limit OFFSET $offset;
