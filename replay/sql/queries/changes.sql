-- Grain: one row per game and challenge in which anything differs from an earlier warehouse, attached as "previous".
-- Counts only: an earlier warehouse may hold ids that were replaced since and that nothing written later may hold.
WITH current_bests AS (
    SELECT challenges.game, challenges.challenge, players.player_id, best.score, best.game_id, levels.position
    FROM keyed.daily_best AS best
    JOIN keyed.challenges ON challenges.challenge_key = best.challenge_key
    JOIN keyed.players ON players.player_key = best.player_key
    LEFT JOIN keyed.score_levels AS levels
        ON levels.challenge_key = best.challenge_key
        AND levels.score = best.score
        AND players.in_percentile
),
previous_bests AS (
    SELECT challenges.game, challenges.challenge, players.player_id, best.score, best.game_id, levels.position
    FROM previous.keyed.daily_best AS best
    JOIN previous.keyed.challenges ON challenges.challenge_key = best.challenge_key
    JOIN previous.keyed.players ON players.player_key = best.player_key
    LEFT JOIN previous.keyed.score_levels AS levels
        ON levels.challenge_key = best.challenge_key
        AND levels.score = best.score
        AND players.in_percentile
),
compared AS (
    SELECT
        coalesce(current_bests.game, previous_bests.game) AS game,
        coalesce(current_bests.challenge, previous_bests.challenge) AS challenge,
        previous_bests.player_id IS NULL AS is_new,
        current_bests.player_id IS NULL AS is_gone,
        current_bests.score > previous_bests.score AS is_raised,
        current_bests.score < previous_bests.score AS is_lowered,
        current_bests.score = previous_bests.score AND current_bests.game_id <> previous_bests.game_id AS is_other_game,
        NOT is_new AND NOT is_gone AND current_bests.position IS DISTINCT FROM previous_bests.position AS is_moved
    FROM current_bests
    FULL JOIN previous_bests
        ON previous_bests.game = current_bests.game
        AND previous_bests.challenge = current_bests.challenge
        AND previous_bests.player_id = current_bests.player_id
),
counted AS (
    SELECT
        game,
        challenge,
        count(*) FILTER (WHERE is_new) AS players_new,
        count(*) FILTER (WHERE is_gone) AS players_gone,
        count(*) FILTER (WHERE is_raised) AS bests_raised,
        count(*) FILTER (WHERE is_lowered) AS bests_lowered,
        count(*) FILTER (WHERE is_other_game) AS bests_by_another_game,
        count(*) FILTER (WHERE is_moved) AS positions_moved
    FROM compared
    GROUP BY game, challenge
)
SELECT *
FROM counted
WHERE players_new + players_gone + bests_raised + bests_lowered + bests_by_another_game + positions_moved > 0
ORDER BY challenge DESC, game;
