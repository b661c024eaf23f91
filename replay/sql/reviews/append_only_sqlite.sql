-- Grain: one trigger a way in which a recorded row of {table_name} ({rows_name}) could be lost; each refuses.
-- REPLACE removes rows without a word to the trigger on delete, so a row that would take another's place is refused as it comes.
CREATE TRIGGER {table_name}_keep_update BEFORE UPDATE ON {table_name}
BEGIN SELECT RAISE(ABORT, '{rows_name} are kept for ever: they cannot be changed'); END;
CREATE TRIGGER {table_name}_keep_delete BEFORE DELETE ON {table_name}
BEGIN SELECT RAISE(ABORT, '{rows_name} are kept for ever: they cannot be deleted'); END;
CREATE TRIGGER {table_name}_keep_insert BEFORE INSERT ON {table_name}
WHEN EXISTS (SELECT 1 FROM {table_name} WHERE {taken})
BEGIN SELECT RAISE(ABORT, '{rows_name} are kept for ever: one stands in this place already'); END;
