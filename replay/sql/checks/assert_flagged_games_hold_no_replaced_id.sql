-- Grain: one row per flagged game under an id that was replaced.  The id is left out: nothing written from now on may hold it.
SELECT flagged_games.day, flagged_games.source_file, flagged_games.source_line
FROM flagged_games
JOIN player_states ON player_states.player_id = flagged_games.player_id
WHERE player_states.new_id IS NOT NULL;
