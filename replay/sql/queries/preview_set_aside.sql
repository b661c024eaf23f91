-- Grain: one row per record that is set aside: the published ones, and the games that stood and that the new rules cannot play.
SELECT * FROM published_aside
UNION ALL BY NAME
SELECT
    published.game_id,
    'challenge' AS code,
    'the new rules do not know the mode, the board or a piece of this game' AS reason,
    source_file,
    source_line
FROM published
JOIN rescored USING (source_file, source_line)
WHERE published.verdict = 'verified'
    AND NOT rescored.playable
ORDER BY source_file, source_line
