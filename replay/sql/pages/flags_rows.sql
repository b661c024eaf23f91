-- Grain: one row a wanted upload that something speaks against, of one page.  %(order)s stands for the order, which no parameter can.
WITH page AS (
    SELECT day, source_file, source_line, difference
    FROM wanted_flags
    WHERE fits
    ORDER BY %(order)s
    LIMIT $limit OFFSET $offset
)
SELECT
    day, source_file, source_line, subject, game_id, game, mode, rules, challenge, player_id, player_kind, nation, attempt,
    platform, app_version, started_at, finished_at, uploaded_at, score, best_combo, replayed_score, replayed_best_combo,
    page.difference, moves, verdict, reasons, suspicions, evidence, attempt_key, counted
FROM page
JOIN flagged_games USING (day, source_file, source_line)
ORDER BY %(order)s;
