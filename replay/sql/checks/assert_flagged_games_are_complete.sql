-- Grain: one row per verdict whose flagged, withheld or suspected uploads are not all in flagged_games, once, or are called counted
-- otherwise than they count.
WITH told AS (
    SELECT
        uploads.game_id,
        uploads.source_file,
        uploads.source_line,
        CASE WHEN released_rows.filename IS NULL THEN uploads.verdict ELSE 'flagged' END AS verdict
    FROM uploads
    LEFT JOIN released_rows
        ON released_rows.filename = uploads.filename
        AND released_rows.file_row_number = uploads.file_row_number
    WHERE uploads.verdict IN ('flagged', 'withheld')
        OR (uploads.verdict = 'verified' AND len(uploads.suspicions) > 0)
),
in_files AS (
    SELECT
        verdict,
        count(*) AS uploads,
        sum(hash(game_id, source_file, source_line)) AS places
    FROM told
    GROUP BY verdict
),
counting AS (
    SELECT
        eligible_rows.verdict,
        count(*) AS games_counted,
        sum(hash(eligible_rows.game_id, eligible_rows.player_id, eligible_rows.attempt)) AS games
    FROM eligible_rows
    SEMI JOIN suspect_rows
        ON suspect_rows.filename = eligible_rows.filename
        AND suspect_rows.file_row_number = eligible_rows.file_row_number
    GROUP BY eligible_rows.verdict
),
listed AS (
    SELECT
        verdict,
        count(*) AS uploads,
        sum(hash(game_id, source_file, source_line)) AS places,
        count(*) FILTER (WHERE counted) AS games_counted,
        sum(hash(game_id, player_id, attempt)) FILTER (WHERE counted) AS games
    FROM flagged_games
    GROUP BY verdict
)
SELECT
    coalesce(listed.verdict, in_files.verdict) AS verdict,
    in_files.uploads,
    listed.uploads AS uploads_listed,
    counting.games_counted,
    listed.games_counted AS called_counted
FROM in_files
FULL JOIN listed ON listed.verdict = in_files.verdict
LEFT JOIN counting ON counting.verdict = coalesce(listed.verdict, in_files.verdict)
WHERE in_files.uploads IS DISTINCT FROM listed.uploads
    OR in_files.places IS DISTINCT FROM listed.places
    OR coalesce(counting.games_counted, 0) IS DISTINCT FROM coalesce(listed.games_counted, 0)
    OR counting.games IS DISTINCT FROM listed.games;
