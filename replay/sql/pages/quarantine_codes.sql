-- Grain: one row a code: its quarantined records, of one day or of all.
SELECT code, count(*) AS records
FROM quarantine
WHERE $day::DATE IS NULL OR day = $day::DATE
GROUP BY code
ORDER BY records DESC, code;
