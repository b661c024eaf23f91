-- Grain: one row per challenge that the player has a counted game in, of one page, newest first, with the number of all of them.
-- Position, percentile and tier are null for a player who takes no part in a day's ranking; is_tied: others have the same score.
SELECT
    challenges.game, challenges.challenge, best.score, best.attempt, best.game_id, levels.position, levels.players > 1 AS is_tied,
    levels.percentile, levels.tier, levels.others + 1 AS ranked, status.status, count(*) OVER () AS bests
FROM keyed.daily_best AS best
JOIN keyed.players ON players.player_key = best.player_key
JOIN keyed.challenges ON challenges.challenge_key = best.challenge_key
JOIN keyed.challenge_status AS status ON status.challenge_key = best.challenge_key
LEFT JOIN keyed.score_levels AS levels
    ON levels.challenge_key = best.challenge_key
    AND levels.score = best.score
    AND players.in_percentile
WHERE players.player_id = $player_id
ORDER BY challenges.challenge DESC, challenges.game
LIMIT $limit OFFSET $offset;
