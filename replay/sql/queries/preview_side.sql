-- Grain: one row per record of one landed day, as one side of a preview has it; a quarantined one has no score and no player.
SELECT
    source_file,
    source_line,
    game_id,
    player_id,
    game,
    mode,
    challenge,
    attempt,
    rules,
    score,
    replayed_score,
    verdict,
    counted,
    reason_codes,
    reasons
FROM read_parquet({verdicts})
UNION ALL BY NAME
SELECT source_file, source_line, game_id, 'quarantined' AS verdict, false AS counted, [code] AS reason_codes
FROM read_parquet({quarantine})
