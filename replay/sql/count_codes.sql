-- Grain: one row a code of the list column in the braces, with the games that have it; games of the verdicts that are left out (a
-- list in braces too) are not counted: copies again, and reasons that nobody is flagged for.
select code, count(*) as games
from (select unnest({column}) as code from verdicts where verdict not in ({left_out}))
group by code
order by code
