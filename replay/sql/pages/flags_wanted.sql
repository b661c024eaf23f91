-- Grain: one row an upload that something speaks against (flagged, withheld, or verified with suspicions) and that fits the wishes for its
-- day, game, player, nation and id; NULL wishes nothing.  The other wishes are told apart, so that each can be counted without.
-- Reads review_states: one row an upload that somebody decided about.  Only what is needed to sort, count and find: a page of rows
-- takes the rest from the mart.
CREATE OR REPLACE TEMP TABLE wanted_flags AS
WITH stated AS (
    SELECT
        flagged_games.day,
        flagged_games.source_file,
        flagged_games.source_line,
        flagged_games.game_id,
        flagged_games.game,
        flagged_games.player_id,
        flagged_games.nation,
        flagged_games.platform,
        flagged_games.app_version,
        flagged_games.score,
        flagged_games.reason_codes,
        flagged_games.suspicions,
        CASE WHEN flagged_games.verdict = 'verified' THEN 'suspected' ELSE flagged_games.verdict END AS kind,
        coalesce(review_states.state, 'open') AS state,
        -- Two claims of 64 bits can lie further apart than 64 bits tell.
        CAST(flagged_games.score AS HUGEINT) - flagged_games.replayed_score AS difference
    FROM flagged_games
    LEFT JOIN review_states
        ON review_states.day = flagged_games.day
        AND review_states.source_file = flagged_games.source_file
        AND review_states.source_line = flagged_games.source_line
),
wished AS (
    SELECT
        *,
        $kind::VARCHAR IS NULL OR kind = $kind AS fits_kind,
        $reason::VARCHAR IS NULL OR list_contains(reason_codes, $reason) AS fits_reason,
        $suspicion::VARCHAR IS NULL OR list_contains(suspicions, $suspicion) AS fits_suspicion,
        $state::VARCHAR IS NULL OR state = $state AS fits_state,
        ($platform::VARCHAR IS NULL OR platform = $platform)
            AND ($app_version::VARCHAR IS NULL OR app_version = $app_version) AS fits_client
    FROM stated
    WHERE ($day_from::DATE IS NULL OR day >= $day_from)
        AND ($day_to::DATE IS NULL OR day <= $day_to)
        AND ($game::VARCHAR IS NULL OR game = $game)
        AND ($player_id::VARCHAR IS NULL OR player_id = $player_id)
        AND ($game_id::VARCHAR IS NULL OR game_id = $game_id)
        AND ($nation::VARCHAR IS NULL OR coalesce(nation, 'none') = $nation)
)
SELECT *, fits_kind AND fits_reason AND fits_suspicion AND fits_state AND fits_client AS fits
FROM wished;
