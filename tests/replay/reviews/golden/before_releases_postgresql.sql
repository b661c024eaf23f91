-- A database of reviews as it was made when there were decisions only, and no releases: the statements of then, written down.
CREATE TABLE review_decisions (
    id BIGINT NOT NULL,
    subject VARCHAR(64) NOT NULL,
    previous BIGINT NOT NULL,
    action VARCHAR(16) NOT NULL,
    undoes BIGINT,
    reason TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    facts TEXT NOT NULL,
    game TEXT NOT NULL,
    game_id TEXT NOT NULL,
    challenge TEXT NOT NULL,
    day DATE NOT NULL,
    batch VARCHAR(32),
    PRIMARY KEY (id),
    CONSTRAINT review_decisions_one_after_another UNIQUE (subject, previous),
    CONSTRAINT review_decisions_in_order CHECK (previous >= 0 AND previous < id),
    CONSTRAINT review_decisions_action CHECK (action IN ('uphold', 'clear', 'note', 'undo')),
    CONSTRAINT review_decisions_undoes CHECK ((action = 'undo') = (undoes IS NOT NULL))
);
CREATE TABLE review_aliases (
    id BIGINT NOT NULL,
    old_subject VARCHAR(64) NOT NULL,
    new_subject VARCHAR(64) NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX review_aliases_new ON review_aliases (new_subject);
CREATE INDEX review_aliases_old ON review_aliases (old_subject);
CREATE FUNCTION review_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'decisions are kept for ever: they cannot be changed or deleted';
END
$$;
CREATE TRIGGER review_decisions_keep BEFORE UPDATE OR DELETE ON review_decisions FOR EACH ROW EXECUTE FUNCTION review_keep();
CREATE TRIGGER review_decisions_keep_all BEFORE TRUNCATE ON review_decisions FOR EACH STATEMENT EXECUTE FUNCTION review_keep();
CREATE TRIGGER review_aliases_keep BEFORE UPDATE OR DELETE ON review_aliases FOR EACH ROW EXECUTE FUNCTION review_keep();
CREATE TRIGGER review_aliases_keep_all BEFORE TRUNCATE ON review_aliases FOR EACH STATEMENT EXECUTE FUNCTION review_keep();
