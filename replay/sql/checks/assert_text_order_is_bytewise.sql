-- Grain: one row if text does not compare by its bytes, which every order and every key of the standings relies on.
SELECT current_setting('default_collation') AS default_collation
WHERE NOT ('Z' < 'a' AND 'z' < 'é' AND 'e' || chr(769) <> 'é' AND 'e' || chr(769) < 'é')
    OR current_setting('default_collation') NOT IN ('', 'binary');
