-- Grain: one row per upload of one landed day whose verdict, reasons, replayed score or counting differs between the two sides.
-- Reads `before_side` and `after_side` (preview_side.sql).  What was claimed is the published side's word: the other one may hold
-- a score that stands in for it.
INSERT INTO changed
SELECT
    $day AS day,
    source_file,
    source_line,
    coalesce(after_side.game_id, before_side.game_id) AS game_id,
    coalesce(after_side.player_id, before_side.player_id) AS player_id,
    coalesce(after_side.game, before_side.game) AS game,
    coalesce(after_side.challenge, before_side.challenge) AS challenge,
    coalesce(after_side.attempt, before_side.attempt) AS attempt,
    coalesce(before_side.score, after_side.score) AS claimed,
    before_side.verdict AS verdict_before,
    after_side.verdict AS verdict_after,
    coalesce(before_side.reason_codes, []) AS reasons_before,
    coalesce(after_side.reason_codes, []) AS reasons_after,
    before_side.replayed_score AS score_before,
    after_side.replayed_score AS score_after,
    coalesce(before_side.counted, false) AS counted_before,
    coalesce(after_side.counted, false) AS counted_after
FROM before_side
FULL JOIN after_side USING (source_file, source_line)
WHERE (
    verdict_before IS DISTINCT FROM verdict_after
    OR before_side.reason_codes IS DISTINCT FROM after_side.reason_codes
    OR before_side.reasons IS DISTINCT FROM after_side.reasons
    OR score_before IS DISTINCT FROM score_after
    OR counted_before <> counted_after
)
-- The same game again, before and after: only the upload that it repeats says anything.
AND NOT coalesce(verdict_before = 'copy' AND verdict_after = 'copy', false)
