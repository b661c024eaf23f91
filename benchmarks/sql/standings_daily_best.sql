-- Grain: one row per made-up challenge and player; scores are multiples of four with a long tail, as those of the game are.
CREATE TABLE keyed.daily_best AS
SELECT
    challenges.challenge_key,
    players.player_key,
    -- The cube of a uniform number, from 200 up to 60,200 points: games of about 85 moves make some thousands.
    200 + 4 * CAST(floor(15000 * ((hash(challenge_key, player_key) % 1000003) / 1000003.0) ** 3) AS BIGINT) AS score,
    CAST(1 + hash(player_key, challenge_key) % 3 AS BIGINT) AS attempt,
    CAST(challenges.day AS TIMESTAMP) + to_seconds(CAST(hash(challenge_key, player_key, 2) % 86400 AS BIGINT)) AS finished_at,
    printf('%016x', hash(challenge_key, player_key, 3)) AS game_id
FROM keyed.challenges
CROSS JOIN keyed.players
ORDER BY challenge_key, player_key;
