-- Grain: one row per group of `suspected` with its past: games and flags of its own, of the other groups on its platform and in its
-- game, and the days on which it was seen, the newest first.
-- Reads `past` (verdict rows with their file) and `past_days` (the day of each file).  Days on which a group was held back are no past
-- of anything.  All of a month's rows go through the first two steps, so they do nothing but count.
WITH games AS (
    SELECT filename, game, platform, app_version, rules, count(*) AS games
    FROM past
    WHERE verdict <> 'copy'
    GROUP BY filename, game, platform, app_version, rules
),
flags AS (
    SELECT
        filename,
        game,
        platform,
        app_version,
        rules,
        count(*) FILTER (list_has_all($holdable::VARCHAR[], reason_codes)) AS flags,
        bool_or(verdict = 'withheld') AS held
    FROM past
    WHERE verdict = 'flagged' OR verdict = 'withheld'
    GROUP BY filename, game, platform, app_version, rules
),
by_day AS (
    SELECT games.*, past_days.day, coalesce(flags.flags, 0) AS flags, coalesce(flags.held, false) AS held
    FROM games
    JOIN past_days USING (filename)
    LEFT JOIN flags USING (filename, game, platform, app_version, rules)
    SEMI JOIN suspected ON suspected.game = games.game
),
own AS (
    SELECT
        game,
        platform,
        app_version,
        rules,
        sum(by_day.games) FILTER (NOT held) AS games,
        sum(by_day.flags) FILTER (NOT held) AS flags,
        list({'day': day, 'held': held} ORDER BY day DESC) AS days
    FROM by_day
    SEMI JOIN suspected USING (game, platform, app_version, rules)
    GROUP BY game, platform, app_version, rules
),
platforms AS (
    SELECT game, platform, sum(games) AS games, sum(flags) AS flags FROM by_day WHERE NOT held GROUP BY game, platform
),
whole_games AS (
    SELECT game, sum(games) AS games, sum(flags) AS flags FROM by_day WHERE NOT held GROUP BY game
)
SELECT
    suspected.*,
    coalesce(own.days, []) AS days,
    coalesce(own.flags, 0)::BIGINT AS own_flags,
    coalesce(own.games, 0)::BIGINT AS own_games,
    (coalesce(platforms.flags, 0) - coalesce(own.flags, 0))::BIGINT AS platform_flags,
    (coalesce(platforms.games, 0) - coalesce(own.games, 0))::BIGINT AS platform_games,
    (coalesce(whole_games.flags, 0) - coalesce(own.flags, 0))::BIGINT AS game_flags,
    (coalesce(whole_games.games, 0) - coalesce(own.games, 0))::BIGINT AS game_games
FROM suspected
LEFT JOIN own USING (game, platform, app_version, rules)
LEFT JOIN platforms USING (game, platform)
LEFT JOIN whole_games USING (game)
ORDER BY game, platform, app_version, rules
