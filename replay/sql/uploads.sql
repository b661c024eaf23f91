-- Grain: one row per verdict row of the lake, with the columns that standings read; those that its file lacks are null.
CREATE TEMP VIEW uploads AS
WITH in_files AS (
    SELECT * FROM no_uploads
    UNION ALL BY NAME
    SELECT *
    FROM read_parquet(
        getvariable('verdict_files'), hive_partitioning = false, filename = true, file_row_number = true, union_by_name = true
    )
)
SELECT
    game_id,
    game,
    mode,
    rules,
    challenge,
    player_id,
    player_kind,
    nation,
    attempt,
    platform,
    app_version,
    started_at,
    finished_at,
    uploaded_at,
    score,
    best_combo,
    level,
    lines,
    final_board,
    verdict,
    counted,
    reason_codes,
    reasons,
    suspicions,
    evidence,
    copy_of,
    replayed_score,
    replayed_best_combo,
    moves,
    log_hash_low,
    log_hash_high,
    attempt_key,
    source_file,
    source_line,
    filename,
    file_row_number
FROM in_files;
