-- Grain: one row per challenge whose players or games are miscounted, or which is called final while uploads are still taken.
WITH players AS (
    SELECT challenge_key, count(DISTINCT player_key) AS players
    FROM keyed.eligible_games
    GROUP BY challenge_key
),
games AS (
    SELECT challenge_key, count(*) AS games
    FROM keyed.eligible_games
    GROUP BY challenge_key
)
SELECT
    coalesce(games.challenge_key, status.challenge_key) AS challenge_key,
    players.players AS players_of_games,
    status.players,
    games.games,
    status.games_counted,
    status.as_of,
    status.status
FROM games
JOIN players ON players.challenge_key = games.challenge_key
FULL JOIN keyed.challenge_status AS status ON status.challenge_key = games.challenge_key
LEFT JOIN keyed.challenges ON challenges.challenge_key = status.challenge_key
WHERE players.players IS DISTINCT FROM status.players
    OR games.games IS DISTINCT FROM status.games_counted
    OR status.people > status.players
    OR (status.status = 'final') <> coalesce(date_diff('day', challenges.day, status.as_of) >= 4, false);
