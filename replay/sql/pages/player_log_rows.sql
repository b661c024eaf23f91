-- Grain: one row an upload of anybody whose log may be one of those with the given hashes, with the file that it lies in.
SELECT filename AS file, game, challenge, log_hash_low, log_hash_high, player_id, game_id, uploaded_at, moves_received
FROM read_parquet($files, filename = true, hive_partitioning = false, union_by_name = true)
WHERE log_hash_low IN (SELECT unnest($hashes::UBIGINT[]));
