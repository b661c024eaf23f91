-- Grain: one row per game and challenge with at least one game that counts: who played it and whether it can still change.
CREATE TABLE keyed.challenge_status AS
WITH populations AS (
    SELECT
        best.challenge_key,
        count(*) AS players,
        count(*) FILTER (WHERE players.player_kind = 'human') AS people
    FROM keyed.daily_best AS best
    JOIN keyed.players ON players.player_key = best.player_key
    GROUP BY best.challenge_key
)
SELECT
    challenges.challenge_key,
    populations.players,
    populations.people,
    challenges.games_counted,
    challenges.rules_versions,
    CAST(getvariable('as_of') AS DATE) AS as_of,
    -- Uploads are taken until three days after a challenge's end, which is 12 hours into the day after its own.
    challenges.day + 4 AS final_from,
    CASE WHEN CAST(getvariable('as_of') AS DATE) >= challenges.day + 4 THEN 'final' ELSE 'provisional' END AS status
FROM keyed.challenges
JOIN populations ON populations.challenge_key = challenges.challenge_key
ORDER BY challenge_key;

CREATE VIEW challenge_status AS
SELECT
    challenges.game,
    challenges.challenge,
    status.players,
    status.people,
    status.games_counted,
    status.rules_versions,
    status.as_of,
    status.final_from,
    status.status
FROM keyed.challenge_status AS status
JOIN keyed.challenges ON challenges.challenge_key = status.challenge_key;
