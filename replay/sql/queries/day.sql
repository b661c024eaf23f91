-- Grain: one row per ranked player of one challenge, best first; player_id orders players with equal scores.
SELECT position, player_id, nation, player_kind, score, attempt, game_id, beaten, others, percentile, tier
FROM daily_ranking
WHERE game = $game
    AND challenge = $challenge
ORDER BY position, player_id
LIMIT $limit OFFSET $offset;
