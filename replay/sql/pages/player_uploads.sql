-- Grain: one row an upload of the player, copies too, with the day on which it landed and the file that it lies in.
WITH landed AS (
    SELECT unnest($files::VARCHAR[]) AS filename, unnest($days::DATE[]) AS day
),
verdicts AS (
    SELECT * FROM read_parquet($files, filename = true, hive_partitioning = false, union_by_name = true)
    UNION ALL BY NAME
    -- Days of an earlier processing version, which may be all there are, lack these.
    SELECT NULL::BIGINT AS level, NULL::BIGINT AS lines WHERE false
)
SELECT
    verdicts.filename AS file, landed.day, source_file, source_line, game_id, game, mode, rules, challenge, player_id, player_kind,
    nation, attempt, platform, app_version, uploaded_at, score, best_combo, level, lines, final_board, replayed_score, verdict,
    counted, reason_codes, reasons, suspicions, copy_of, log_hash_low, log_hash_high, moves_received
FROM verdicts
JOIN landed ON landed.filename = verdicts.filename
WHERE player_id = $player_id;
