-- Grain: one row a flagged game of the given verdict files, newest day first.
SELECT
    filename, game_id, player_id, game, challenge, attempt, platform, app_version, rules, score, replayed_score, reasons, suspicions
FROM read_parquet($files, filename = true, hive_partitioning = false)
WHERE verdict = 'flagged'
    AND ($reason IS NULL OR list_contains(reason_codes, $reason))
    AND ($player_id IS NULL OR player_id = $player_id)
ORDER BY filename DESC, game_id, source_file, source_line
LIMIT $limit OFFSET $offset;
