-- Grain: one row per daily best whose game is not among those that count, or whose score another game had made before.
-- Hashes stand in for the ids of games: a join of texts would need several times the memory.
WITH games AS (
    SELECT challenge_key, player_key, score, attempt, finished_at, hash(game_id) AS game_hash
    FROM keyed.eligible_games
),
bests AS (
    SELECT challenge_key, player_key, score, attempt, finished_at, hash(game_id) AS game_hash
    FROM keyed.daily_best
),
not_among_them AS (
    SELECT challenge_key, player_key, score, attempt, 'not a game that counts' AS fault
    FROM bests
    ANTI JOIN games USING (challenge_key, player_key, score, attempt, finished_at, game_hash)
),
-- Two games share an attempt only when a person cleared one (assert_eligible_games_are_counted_once): their ids need not be
-- compared.
made_before AS (
    SELECT bests.challenge_key, bests.player_key, bests.score, games.attempt, 'made the score before' AS fault
    FROM bests
    JOIN games
        ON games.challenge_key = bests.challenge_key
        AND games.player_key = bests.player_key
        AND games.score = bests.score
    WHERE (games.finished_at, games.attempt) < (bests.finished_at, bests.attempt)
)
SELECT * FROM not_among_them
UNION ALL
SELECT * FROM made_before;
