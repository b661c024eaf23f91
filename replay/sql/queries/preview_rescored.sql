-- Grain: one row per published verdict row that is still one when its game is counted by other rules, in the published order.
-- Reads `published` (verdict rows with file_row_number) and `rescored` (one row a game that is taken: what the replay gave).
-- Nobody claimed anything under those rules, so what they give stands for a claim that came out.  A game that stood and that they
-- do not allow is flagged; one that was flagged or held back stays so, for what it claimed under the rules that it named, and a score that did
-- not come out stays too: it counts only where a person let it, whatever the rules.
WITH joined AS (
    SELECT
        published.*,
        published.verdict IN ('verified', 'flagged', 'withheld') AND coalesce(rescored.ended, false) AS is_rescored,
        published.verdict = 'verified' AND rescored.fault IS NOT NULL AS is_illegal,
        rescored.score AS new_score,
        rescored.moves AS new_moves,
        rescored.fault
    FROM published
    LEFT JOIN rescored USING (source_file, source_line)
    WHERE NOT coalesce(published.verdict = 'verified' AND NOT rescored.playable, false)
)
SELECT
    * EXCLUDE (is_rescored, is_illegal, new_score, new_moves, fault, file_row_number)
    REPLACE (
        if(is_rescored AND score = replayed_score, new_score, score) AS score,
        if(is_rescored OR is_illegal, new_score, replayed_score) AS replayed_score,
        if(is_illegal, 'flagged', verdict) AS verdict,
        counted AND NOT is_illegal AS counted,
        if(is_illegal, ['illegal_move'], reason_codes) AS reason_codes,
        if(
            is_illegal,
            '[{"code": "illegal_move", "claimed": null, "found": "' || fault || '", "move": ' || new_moves || '}]',
            reasons
        ) AS reasons
    )
FROM joined
ORDER BY file_row_number
