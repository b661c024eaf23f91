-- Grain: one row per made-up player: one in twenty an AI player, one in fifty without a nation, 100 nations.
CREATE TABLE keyed.players AS
SELECT
    CAST(number AS INTEGER) AS player_key,
    printf('%08x-%016x', number, hash(number)) AS player_id,
    CASE
        WHEN number % 50 > 0
            THEN chr(65 + CAST(hash(number) % 10 AS INTEGER)) || chr(65 + CAST(hash(number, 1) % 10 AS INTEGER))
    END AS nation,
    CASE WHEN number % 20 = 7 THEN 'ai' ELSE 'human' END AS player_kind,
    true AS in_percentile
FROM range(1, $players + 1) AS players (number)
ORDER BY player_key;
