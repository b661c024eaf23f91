-- Grain: one row per player of either warehouse, "earlier" and "later", under the id of now, with the key in each.
CREATE TEMP TABLE moved_people AS
WITH before_ids AS (
    SELECT coalesce(renamed.new_id, players.player_id) AS player_id, min(players.player_key) AS before_key
    FROM earlier.keyed.players AS players
    LEFT JOIN renamed ON renamed.old_id = players.player_id
    GROUP BY coalesce(renamed.new_id, players.player_id)
),
after_ids AS (
    SELECT player_id, player_key AS after_key FROM later.keyed.players
)
SELECT
    row_number() OVER (ORDER BY coalesce(after_ids.player_id, before_ids.player_id)) AS person,
    coalesce(after_ids.player_id, before_ids.player_id) AS player_id,
    before_ids.before_key,
    after_ids.after_key
FROM before_ids
FULL JOIN after_ids ON after_ids.player_id = before_ids.player_id;
