-- Grain: one trigger a way in which a recorded decision, or the new name of a subject, could be lost; each refuses.
CREATE FUNCTION review_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'decisions are kept for ever: they cannot be changed or deleted';
END
$$;
CREATE TRIGGER review_decisions_keep BEFORE UPDATE OR DELETE ON review_decisions FOR EACH ROW EXECUTE FUNCTION review_keep();
CREATE TRIGGER review_decisions_keep_all BEFORE TRUNCATE ON review_decisions FOR EACH STATEMENT EXECUTE FUNCTION review_keep();
CREATE TRIGGER review_aliases_keep BEFORE UPDATE OR DELETE ON review_aliases FOR EACH ROW EXECUTE FUNCTION review_keep();
CREATE TRIGGER review_aliases_keep_all BEFORE TRUNCATE ON review_aliases FOR EACH STATEMENT EXECUTE FUNCTION review_keep();
