-- Grain: one row: the player's uploads in numbers, and nation and kind as the newest one says.
SELECT
    count(*) AS uploads,
    count(*) FILTER (verdict = 'verified') AS verified,
    count(*) FILTER (verdict = 'flagged') AS flagged,
    count(*) FILTER (verdict = 'withheld') AS withheld,
    count(*) FILTER (verdict = 'copy') AS copies,
    min(day) AS first_day,
    max(day) AS last_day,
    arg_max(nation, (uploaded_at, game_id)) AS nation,
    arg_max(player_kind, (uploaded_at, game_id)) AS player_kind
FROM player_uploads;
