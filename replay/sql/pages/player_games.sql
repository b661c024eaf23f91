-- Grain: one row an upload of the player, of one page, newest first.
SELECT *
FROM player_uploads
ORDER BY day DESC, uploaded_at DESC, game_id, source_file, source_line
LIMIT $limit OFFSET $offset;
