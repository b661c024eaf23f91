-- Grain: one row per game that counts in standings.  This is the one eligibility rule: every mart is made from it.
CREATE TEMP VIEW eligible_rows AS
WITH struck AS (
    SELECT filename, file_row_number FROM judged_rows WHERE counted AND NOT counts
),
-- What the night found stands for every game that nobody decided about and whose group nobody released: a withheld one counts as
-- it did before it was held back.
by_verdict AS (
    SELECT *
    FROM verdict_rows
    ANTI JOIN struck USING (filename, file_row_number)
    ANTI JOIN released_rows USING (filename, file_row_number)
    WHERE counted
),
by_review AS (
    SELECT * EXCLUDE (state, counts) FROM judged_rows WHERE counts AND NOT counted
),
counted_rows AS (
    SELECT * FROM by_verdict
    UNION ALL BY NAME
    SELECT * FROM by_review
),
-- A removed player leaves every board and population; an anonymised one appears under the new id alone.
in_play AS (
    SELECT
        counted_rows.* REPLACE (coalesce(player_states.new_id, counted_rows.player_id) AS player_id)
    FROM counted_rows
    LEFT JOIN player_states ON player_states.player_id = counted_rows.player_id
    WHERE NOT coalesce(player_states.removed, false)
)
SELECT * FROM in_play;
