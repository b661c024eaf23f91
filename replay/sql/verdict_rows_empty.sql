-- Grain: no rows; stands in for verdict_rows.sql in a lake that holds no verdict file yet.
CREATE TEMP TABLE verdict_rows (
    game_id VARCHAR,
    game VARCHAR,
    challenge VARCHAR,
    rules VARCHAR,
    player_id VARCHAR,
    player_kind VARCHAR,
    nation VARCHAR,
    attempt BIGINT,
    finished_at TIMESTAMP,
    score BIGINT,
    verdict VARCHAR,
    counted BOOLEAN
);
