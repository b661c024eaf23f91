-- Grain: one row per group (game, platform, app version, rules) of one day whose flags may have to be held back, with how many
-- groups of the day are large enough to be tested (`tests`).
-- Reads `today_games` (the day's games by group, in several rows for some), `today_flags` (its flagged rows as they were found) and
-- `past` (verdict rows of the days before).
WITH games AS (
    SELECT game, platform, app_version, rules, sum(games)::BIGINT AS games
    FROM today_games
    GROUP BY game, platform, app_version, rules
),
flags AS (
    SELECT game, platform, app_version, rules, count(*) AS flags
    FROM today_flags
    WHERE list_has_all($holdable::VARCHAR[], reason_codes)
    GROUP BY game, platform, app_version, rules
),
-- A group that was held back lately is looked at however few of its games came.
held_lately AS (
    SELECT DISTINCT game, platform, app_version, rules, true AS is_held FROM past WHERE verdict = 'withheld'
),
tested AS (
    SELECT
        games.*,
        coalesce(flags.flags, 0) AS flags,
        coalesce(held_lately.is_held, false) AS is_held,
        count(*) OVER () AS tests
    FROM games
    LEFT JOIN flags USING (game, platform, app_version, rules)
    LEFT JOIN held_lately USING (game, platform, app_version, rules)
    WHERE games.games >= $least OR held_lately.is_held
)
SELECT game, platform, app_version, rules, games, flags, tests
FROM tested
WHERE flags >= $least OR (is_held AND flags > 0)
ORDER BY game, platform, app_version, rules
