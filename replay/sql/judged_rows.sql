-- Grain: one row per upload that a decision stands on, as releases leave it, with its state and whether standings use it.
CREATE TEMP TABLE judged_rows AS
SELECT
    candidate_rows.game_id,
    candidate_rows.game,
    candidate_rows.challenge,
    candidate_rows.rules,
    candidate_rows.player_id,
    candidate_rows.player_kind,
    candidate_rows.nation,
    candidate_rows.attempt,
    candidate_rows.finished_at,
    candidate_rows.score,
    candidate_rows.verdict,
    candidate_rows.counted,
    candidate_rows.filename,
    candidate_rows.file_row_number,
    judgements.state,
    judgements.counts
FROM candidate_rows
JOIN judgements
    ON judgements.filename = candidate_rows.filename
    AND judgements.file_row_number = candidate_rows.file_row_number;
