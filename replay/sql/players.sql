-- Grain: one row per player with at least one game that counts, with the nation and kind that stand everywhere.
CREATE TABLE keyed.players AS
WITH newest_days AS (
    SELECT games.player_key, max(challenges.day) AS day
    FROM keyed.eligible_games AS games
    JOIN keyed.challenges ON challenges.challenge_key = games.challenge_key
    GROUP BY games.player_key
),
games_of_newest_day AS (
    SELECT games.player_key, games.nation, games.player_kind, games.finished_at, games.game_id
    FROM keyed.eligible_games AS games
    JOIN keyed.challenges ON challenges.challenge_key = games.challenge_key
    JOIN newest_days
        ON newest_days.player_key = games.player_key
        AND newest_days.day = challenges.day
),
newest_games AS (
    SELECT player_key, nation, player_kind
    FROM games_of_newest_day
    QUALIFY row_number() OVER (PARTITION BY player_key ORDER BY finished_at DESC, game_id, nation, player_kind) = 1
)
SELECT
    player_keys.player_key,
    player_keys.player_id,
    newest_games.nation,
    newest_games.player_kind,
    newest_games.player_kind = 'human' OR getvariable('ai_in_percentile') AS in_percentile
FROM newest_games
JOIN player_keys ON player_keys.player_key = newest_games.player_key
ORDER BY player_key;

CREATE VIEW players AS
SELECT player_id, nation, player_kind
FROM keyed.players;

CREATE VIEW eligible_games AS
SELECT
    challenges.game,
    challenges.challenge,
    players.player_id,
    games.attempt,
    games.score,
    games.finished_at,
    games.game_id,
    games.rules,
    games.player_kind,
    games.nation
FROM keyed.eligible_games AS games
JOIN keyed.challenges ON challenges.challenge_key = games.challenge_key
JOIN keyed.players ON players.player_key = games.player_key;
