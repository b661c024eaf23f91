-- Grain: no rows; stands in for verdict_rows.sql and uploads.sql in a lake that holds no verdict file yet.
CREATE TEMP TABLE uploads AS FROM no_uploads;

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
FROM uploads;
