-- Grain: one row an upload of another day that shares an upload id, an attempt or a long log with a wanted one.
-- Reads `elsewhere` (verdict rows of the other days) and `wanted` (upload_key, attempt_key, log_key; a log_key of 0 is none).
select *
from elsewhere
where upload_key in (select upload_key from wanted)
    or attempt_key in (select attempt_key from wanted)
    or (log_key <> 0 and log_key in (select log_key from wanted where log_key <> 0))
