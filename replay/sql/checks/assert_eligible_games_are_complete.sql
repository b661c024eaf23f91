-- Grain: one row if the stored games are not as many as the eligibility rule lets through, or the publication miscounts them.
WITH by_rule AS (
    SELECT count(*) AS games FROM eligible_rows
),
stored AS (
    SELECT count(*) AS games FROM keyed.eligible_games
)
SELECT by_rule.games AS by_rule, stored.games AS stored, publication.eligible_games AS published
FROM by_rule
CROSS JOIN stored
CROSS JOIN publication
WHERE by_rule.games <> stored.games
    OR by_rule.games <> publication.eligible_games;
