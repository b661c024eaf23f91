-- Grain: one trigger a way in which a recorded release could be lost; each refuses.
CREATE FUNCTION review_releases_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'releases are kept for ever: they cannot be changed or deleted';
END
$$;
CREATE TRIGGER review_releases_keep BEFORE UPDATE OR DELETE ON review_releases
FOR EACH ROW EXECUTE FUNCTION review_releases_keep();
CREATE TRIGGER review_releases_keep_all BEFORE TRUNCATE ON review_releases
FOR EACH STATEMENT EXECUTE FUNCTION review_releases_keep();
