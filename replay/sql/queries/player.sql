-- Grain: one row: the player, if any game of theirs counts.
SELECT player_id, nation, player_kind
FROM players
WHERE player_id = $player_id;
