-- Grain: one row per verdict row of the lake, with the columns that standings need and no other.
-- A row is known by the file and its place there; nothing that a player wrote could name it for certain.
CREATE TEMP VIEW verdict_rows AS
SELECT
    game_id,
    game,
    challenge,
    rules,
    player_id,
    player_kind,
    nation,
    attempt,
    finished_at,
    score,
    verdict,
    counted,
    filename,
    file_row_number
FROM read_parquet(getvariable('verdict_files'), hive_partitioning = false, filename = true, file_row_number = true);
