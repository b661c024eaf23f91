-- Grain: one row per verdict row that counts, by the night or by a review, and lacks what standings are made from.
-- The player is left out: the id may be one that nothing written from now on may hold.
WITH by_verdict AS (
    -- A withheld game counts when it did before.
    SELECT *, verdict IN ('verified', 'withheld') AND attempt BETWEEN 1 AND 3 AND score >= 0 AS is_due
    FROM verdict_rows
    ANTI JOIN released_rows USING (filename, file_row_number)
    WHERE counted
),
-- A person may let a fourth attempt count, but no score that could stop every later night.
by_review AS (
    SELECT * EXCLUDE (state, counts), verdict IN ('flagged', 'withheld') AND score BETWEEN 0 AND 1000000000000 AS is_due
    FROM judged_rows
    WHERE counts
        AND NOT counted
)
SELECT game_id, game, challenge, player_kind, attempt, score, finished_at, verdict
FROM (FROM by_verdict UNION ALL BY NAME FROM by_review)
WHERE NOT coalesce(
    is_due
    AND regexp_full_match(challenge, '[0-9]{4}-[0-9]{2}-[0-9]{2}')
    AND try_strptime(challenge, '%Y-%m-%d') IS NOT NULL
    AND player_kind IN ('human', 'ai')
    AND game_id IS NOT NULL
    AND game IS NOT NULL
    AND rules IS NOT NULL
    AND player_id IS NOT NULL
    AND attempt IS NOT NULL
    AND finished_at IS NOT NULL,
    false
);
