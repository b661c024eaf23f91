-- Grain: one row a code of the list column in the braces, with the games that have it; copies are not counted again.
select code, count(*) as games
from (select unnest({column}) as code from verdicts where verdict <> 'copy')
group by code
order by code
