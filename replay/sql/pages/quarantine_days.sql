-- Grain: one row a day that has quarantined records, of one code or of all, newest first.
SELECT day, count(*) AS records
FROM quarantine
WHERE $code::VARCHAR IS NULL OR code = $code::VARCHAR
GROUP BY day
ORDER BY day DESC;
