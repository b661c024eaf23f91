-- Grain: one trigger a way in which a recorded row of {table_name} ({rows_name}) could be lost; each refuses.
CREATE FUNCTION {table_name}_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '{rows_name} are kept for ever: they cannot be changed or deleted';
END
$$;
CREATE TRIGGER {table_name}_keep BEFORE UPDATE OR DELETE ON {table_name}
FOR EACH ROW EXECUTE FUNCTION {table_name}_keep();
CREATE TRIGGER {table_name}_keep_all BEFORE TRUNCATE ON {table_name}
FOR EACH STATEMENT EXECUTE FUNCTION {table_name}_keep();
