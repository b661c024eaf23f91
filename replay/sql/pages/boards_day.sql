-- Grain: one row per ranked player of one challenge, of one page, best first, with the number of all of them; player_id orders players
-- with equal scores, who share a position (is_tied).
SELECT
    levels.position, levels.players > 1 AS is_tied, players.player_id, players.nation, players.player_kind, best.score, best.attempt,
    best.game_id, levels.percentile, levels.tier, levels.others + 1 AS ranked
FROM keyed.daily_best AS best
JOIN keyed.challenges ON challenges.challenge_key = best.challenge_key
JOIN keyed.players ON players.player_key = best.player_key AND players.in_percentile
JOIN keyed.score_levels AS levels
    ON levels.challenge_key = best.challenge_key
    AND levels.score = best.score
WHERE challenges.game = $game
    AND challenges.challenge = $challenge
ORDER BY levels.position, players.player_id
LIMIT $limit OFFSET $offset;
