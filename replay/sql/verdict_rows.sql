-- Grain: one row per verdict row of the lake, with the columns that standings need and no other.
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
    counted
FROM read_parquet(getvariable('verdict_files'), hive_partitioning = false);
