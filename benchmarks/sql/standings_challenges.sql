-- Grain: one row per made-up challenge: $days consecutive days of one game.
CREATE TABLE keyed.challenges AS
SELECT
    CAST(number AS INTEGER) AS challenge_key,
    'blocks' AS game,
    strftime(DATE '2026-10-01' + CAST(number - 1 AS INTEGER), '%Y-%m-%d') AS challenge,
    DATE '2026-10-01' + CAST(number - 1 AS INTEGER) AS day,
    substr(challenge, 1, 7) AS month,
    CAST($players AS BIGINT) AS games_counted,
    ['1.2.0'] AS rules_versions
FROM range(1, $days + 1) AS days (number)
ORDER BY challenge_key;
