-- Grain: one row: how many quarantined records there are under the filter.
SELECT count(*) AS total
FROM quarantine
WHERE ($day::DATE IS NULL OR day = $day::DATE)
    AND ($code::VARCHAR IS NULL OR code = $code::VARCHAR);
