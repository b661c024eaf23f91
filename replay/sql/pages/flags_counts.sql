-- Grain: one row a value that the list can be narrowed to, with its uploads when all other wishes stay: facet, name, app_version
-- (of a client), uploads.  Most first.
WITH of_kinds AS (
    -- What only looks unusual has no reason: a wish for one is dropped with the tab.
    SELECT 'kind' AS facet, kind AS name, NULL AS app_version, count(*) AS uploads
    FROM wanted_flags
    WHERE fits_suspicion AND fits_state AND fits_client AND (fits_reason OR kind = 'suspected')
    GROUP BY kind
),
of_reasons AS (
    SELECT 'reason' AS facet, code.code AS name, NULL AS app_version, count(*) AS uploads
    FROM wanted_flags
    CROSS JOIN unnest(wanted_flags.reason_codes) AS code (code)
    WHERE fits_kind AND fits_suspicion AND fits_state AND fits_client
    GROUP BY code.code
),
of_suspicions AS (
    SELECT 'suspicion' AS facet, sign.sign AS name, NULL AS app_version, count(*) AS uploads
    FROM wanted_flags
    CROSS JOIN unnest(wanted_flags.suspicions) AS sign (sign)
    WHERE fits_kind AND fits_reason AND fits_state AND fits_client
    GROUP BY sign.sign
),
of_states AS (
    SELECT 'state' AS facet, state AS name, NULL AS app_version, count(*) AS uploads
    FROM wanted_flags
    WHERE fits_kind AND fits_reason AND fits_suspicion AND fits_client
    GROUP BY state
),
of_clients AS (
    SELECT 'client' AS facet, platform AS name, app_version, count(*) AS uploads
    FROM wanted_flags
    WHERE fits_kind AND fits_reason AND fits_suspicion AND fits_state
    GROUP BY platform, app_version
    ORDER BY uploads DESC, name, app_version
    LIMIT $clients
)
SELECT * FROM of_kinds
UNION ALL
SELECT * FROM of_reasons
UNION ALL
SELECT * FROM of_suspicions
UNION ALL
SELECT * FROM of_states
UNION ALL
SELECT * FROM of_clients
ORDER BY facet, uploads DESC, name, app_version;
