-- Grain: one row, the counts of one day's verdict file.
select
    count(*) filter (verdict = 'verified') as verified,
    count(*) filter (verdict = 'flagged') as flagged,
    count(*) filter (verdict = 'withheld') as withheld,
    count(*) filter (verdict = 'copy') as copy,
    count(*) filter (counted) as counted,
    coalesce(cast(sum(moves_received) filter (verdict = 'verified') as bigint), 0) as moves_received,
    coalesce(cast(sum(moves) filter (verdict = 'verified') as bigint), 0) as moves_replayed
from verdicts
