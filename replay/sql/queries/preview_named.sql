-- Grain: one row per rules version of a game that games of these verdict files name, with their number; copies are no games.
SELECT rules, count(*) AS games
FROM read_parquet($files, hive_partitioning = false)
WHERE game = $game
    AND verdict <> 'copy'
GROUP BY rules
ORDER BY rules
