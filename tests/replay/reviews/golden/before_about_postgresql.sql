-- A database of reviews as it was made when releases did not keep what they were about: the statements of then, written down, and
-- a release, its undo, and one that stands.
CREATE TABLE review_decisions (
    id BIGINT NOT NULL,
    action VARCHAR(16) NOT NULL,
    undoes BIGINT,
    reason TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    subject VARCHAR(64) NOT NULL,
    previous BIGINT NOT NULL,
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
CREATE TABLE review_releases (
    id BIGINT NOT NULL,
    action VARCHAR(16) NOT NULL,
    undoes BIGINT,
    reason TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    day DATE NOT NULL,
    game TEXT NOT NULL,
    platform TEXT NOT NULL,
    app_version TEXT NOT NULL,
    rules TEXT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT review_releases_in_order CHECK (undoes < id),
    CONSTRAINT review_releases_action CHECK (action IN ('release', 'undo')),
    CONSTRAINT review_releases_undoes CHECK ((action = 'undo') = (undoes IS NOT NULL))
);
CREATE FUNCTION review_decisions_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'decisions are kept for ever: they cannot be changed or deleted';
END
$$;
CREATE TRIGGER review_decisions_keep BEFORE UPDATE OR DELETE ON review_decisions
FOR EACH ROW EXECUTE FUNCTION review_decisions_keep();
CREATE TRIGGER review_decisions_keep_all BEFORE TRUNCATE ON review_decisions
FOR EACH STATEMENT EXECUTE FUNCTION review_decisions_keep();
CREATE FUNCTION review_aliases_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'new names of subjects are kept for ever: they cannot be changed or deleted';
END
$$;
CREATE TRIGGER review_aliases_keep BEFORE UPDATE OR DELETE ON review_aliases
FOR EACH ROW EXECUTE FUNCTION review_aliases_keep();
CREATE TRIGGER review_aliases_keep_all BEFORE TRUNCATE ON review_aliases
FOR EACH STATEMENT EXECUTE FUNCTION review_aliases_keep();
CREATE FUNCTION review_releases_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'releases are kept for ever: they cannot be changed or deleted';
END
$$;
CREATE TRIGGER review_releases_keep BEFORE UPDATE OR DELETE ON review_releases
FOR EACH ROW EXECUTE FUNCTION review_releases_keep();
CREATE TRIGGER review_releases_keep_all BEFORE TRUNCATE ON review_releases
FOR EACH STATEMENT EXECUTE FUNCTION review_releases_keep();
INSERT INTO review_releases (id, action, undoes, reason, reviewer, at, day, game, platform, app_version, rules) VALUES
    (1, 'release', NULL, 'looked at twenty', 'ana', '2026-11-01 09:00:00+00:00', '2026-10-31', 'blocks', 'android', '3.2.0', '1.2.0'),
    (2, 'undo', 1, 'the rules after all', 'ben', '2026-11-01 10:00:00+00:00', '2026-10-31', 'blocks', 'android', '3.2.0', '1.2.0'),
    (3, 'release', NULL, 'no, they cheat', 'ana', '2026-11-01 11:00:00+00:00', '2026-10-31', 'blocks', 'android', '3.2.0', '1.2.0');
