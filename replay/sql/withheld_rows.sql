-- Grain: one row per verdict row of the day that is held back, by its place in the file (from 0), and whether it counts as it did before.
-- Reads `today_flags` (its flagged rows as they were found), `incidents` (groups) and `published_before` (the day's rows as they were
-- published before, with those of the days that its uploads are related to).  The same game is one in which all is the same that
-- two games can differ in: a retry may come in first and under another id.  Of one game no more than one upload is wanted, as the
-- others are copies of it.
CREATE OR REPLACE TEMP TABLE held AS
WITH wanted AS (
    SELECT *
    FROM today_flags
    SEMI JOIN incidents USING (game, platform, app_version, rules)
    WHERE list_has_all($holdable::VARCHAR[], reason_codes)
),
counted_before AS (
    SELECT DISTINCT
        game, challenge, player_id, attempt, mode, rules, log_hash_low, log_hash_high, score, best_combo, level, lines,
        final_board, true AS counts
    FROM published_before
    SEMI JOIN wanted USING (player_id, challenge, log_hash_low, log_hash_high)
    WHERE counted
)
SELECT
    wanted.row,
    wanted.game,
    wanted.platform,
    wanted.app_version,
    wanted.rules,
    wanted.reason_codes,
    -- Only a game in its challenge's own mode and rules ever counts; the challenge table may be another one by now.
    coalesce(counted_before.counts, false) AND wanted.attempt_key % 2 = 1 AS counts,
    CASE
        WHEN contains(wanted.evidence, 'rules_that_agree') AND json_valid(wanted.evidence)
            THEN json_extract_string(wanted.evidence, '$.rules_that_agree[*]')
        ELSE []
    END AS agreeing
FROM wanted
LEFT JOIN counted_before
    ON counted_before.player_id = wanted.player_id
    AND counted_before.game = wanted.game
    AND counted_before.challenge = wanted.challenge
    AND counted_before.attempt = wanted.attempt
    AND counted_before.mode = wanted.mode
    AND counted_before.rules = wanted.rules
    AND counted_before.log_hash_low = wanted.log_hash_low
    AND counted_before.log_hash_high = wanted.log_hash_high
    AND counted_before.score = wanted.score
    AND counted_before.best_combo = wanted.best_combo
    AND counted_before.level IS NOT DISTINCT FROM wanted.level
    AND counted_before.lines IS NOT DISTINCT FROM wanted.lines
    AND counted_before.final_board = wanted.final_board
ORDER BY wanted.row
