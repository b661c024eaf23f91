-- Grain: one row an earlier challenge whose games landed on the day, with the days of delay; challenges without a date are left out.
SELECT challenge, date_diff('day', try_cast(challenge AS DATE), $day::DATE) AS days, count(*) AS games
FROM read_parquet($today, hive_partitioning = false)
WHERE try_cast(challenge AS DATE) < $day::DATE
    AND verdict <> 'copy'
    AND attempt_key % 2 = 1
GROUP BY challenge, days
ORDER BY challenge;
