-- Grain: one row per challenge that the player is ranked in, newest first.
SELECT
    daily_ranking.game,
    daily_ranking.challenge,
    daily_ranking.position,
    daily_ranking.score,
    daily_ranking.attempt,
    daily_ranking.game_id,
    daily_ranking.beaten,
    daily_ranking.others,
    daily_ranking.percentile,
    daily_ranking.tier,
    challenge_status.status
FROM daily_ranking
JOIN challenge_status
    ON challenge_status.game = daily_ranking.game
    AND challenge_status.challenge = daily_ranking.challenge
WHERE daily_ranking.player_id = $player_id
ORDER BY daily_ranking.challenge DESC, daily_ranking.game
LIMIT $limit;
