-- Grain: one row per verdict row whose score another one stands in for, of a game that somebody has decided about.
SELECT published.*, rescored.score AS new_score
FROM published
JOIN rescored USING (source_file, source_line)
WHERE rescored.ended
    AND published.verdict IN ('verified', 'flagged', 'withheld')
    AND published.score = published.replayed_score
    AND published.score <> rescored.score
    AND list_contains($game_ids::VARCHAR[], published.game_id)
