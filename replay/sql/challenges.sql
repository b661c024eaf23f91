-- Grain: one row per game and challenge with at least one game that counts.  Keys follow the order of (game, challenge).
CREATE TABLE keyed.challenges AS
WITH played AS (
    SELECT
        game,
        challenge,
        count(*) AS games_counted,
        list(DISTINCT rules ORDER BY rules) AS rules_versions
    FROM eligible_rows
    GROUP BY game, challenge
),
dated AS (
    -- A name that is no date gives NULL here and is named by assert_counted_rows_are_sound.
    SELECT *, CAST(try_strptime(challenge, '%Y-%m-%d') AS DATE) AS day
    FROM played
)
SELECT
    CAST(row_number() OVER (ORDER BY game, challenge) AS INTEGER) AS challenge_key,
    game,
    challenge,
    day,
    substr(challenge, 1, 7) AS month,
    games_counted,
    rules_versions
FROM dated
ORDER BY challenge_key;
