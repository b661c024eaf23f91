-- Grain: one row per upload with the id of a game that a decision stands on; another upload may have the same id.
CREATE TEMP TABLE candidate_rows AS
SELECT uploads.*
FROM uploads
SEMI JOIN decided ON decided.game_id = uploads.game_id;
