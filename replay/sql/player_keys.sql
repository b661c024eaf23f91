-- Grain: one row per player with at least one game that counts.  Keys follow the byte order of player_id.
CREATE TEMP TABLE player_keys AS
WITH ids AS (
    SELECT DISTINCT player_id FROM eligible_rows
)
SELECT
    CAST(row_number() OVER (ORDER BY player_id) AS INTEGER) AS player_key,
    player_id
FROM ids
ORDER BY player_key;
