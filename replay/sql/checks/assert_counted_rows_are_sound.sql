-- Grain: one row per counted verdict row that is not verified or lacks what standings are made from.
-- The player is left out: the id may be one that nothing written from now on may hold.
SELECT game_id, game, challenge, player_kind, attempt, score, finished_at, verdict
FROM verdict_rows
WHERE counted
    AND NOT coalesce(
        verdict = 'verified'
        AND regexp_full_match(challenge, '[0-9]{4}-[0-9]{2}-[0-9]{2}')
        AND try_strptime(challenge, '%Y-%m-%d') IS NOT NULL
        AND player_kind IN ('human', 'ai')
        AND game_id IS NOT NULL
        AND game IS NOT NULL
        AND rules IS NOT NULL
        AND player_id IS NOT NULL
        AND attempt BETWEEN 1 AND 3
        AND score >= 0
        AND finished_at IS NOT NULL,
        false
    );
