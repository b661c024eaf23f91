-- Grain: one row an upload of the player that is a copy of a game of one of $game_ids.
SELECT *
FROM player_uploads
WHERE verdict = 'copy' AND copy_of IN (SELECT unnest($game_ids::VARCHAR[]))
ORDER BY day, source_file, source_line;
