-- Grain: one row per player of the warehouse who was removed from play or has a new id.
SELECT players.player_key, player_states.removed
FROM keyed.players
JOIN player_states ON player_states.player_id = players.player_id;
