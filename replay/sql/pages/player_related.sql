-- Grain: one row an upload of the player that is a copy of a game of one of $game_ids, or such a game that stands.
SELECT *
FROM player_uploads
WHERE CASE WHEN verdict = 'copy' THEN copy_of ELSE game_id END IN (SELECT unnest($game_ids::VARCHAR[]))
ORDER BY day, source_file, source_line;
