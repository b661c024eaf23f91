-- A database of reviews as it was made when there were decisions only, and no releases: the statements of then, written down.
CREATE TABLE review_decisions (
    id BIGINT NOT NULL,
    subject VARCHAR(64) NOT NULL,
    previous BIGINT NOT NULL,
    action VARCHAR(16) NOT NULL,
    undoes BIGINT,
    reason TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    at DATETIME NOT NULL,
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
    at DATETIME NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX review_aliases_new ON review_aliases (new_subject);
CREATE INDEX review_aliases_old ON review_aliases (old_subject);
CREATE TRIGGER review_decisions_keep_update BEFORE UPDATE ON review_decisions
BEGIN SELECT RAISE(ABORT, 'decisions are kept for ever: they cannot be changed'); END;
CREATE TRIGGER review_decisions_keep_delete BEFORE DELETE ON review_decisions
BEGIN SELECT RAISE(ABORT, 'decisions are kept for ever: they cannot be deleted'); END;
CREATE TRIGGER review_decisions_keep_insert BEFORE INSERT ON review_decisions
WHEN EXISTS (SELECT 1 FROM review_decisions WHERE id = NEW.id OR (subject = NEW.subject AND previous = NEW.previous))
BEGIN SELECT RAISE(ABORT, 'decisions are kept for ever: one stands in this place already'); END;
CREATE TRIGGER review_aliases_keep_update BEFORE UPDATE ON review_aliases
BEGIN SELECT RAISE(ABORT, 'new names of subjects are kept for ever: they cannot be changed'); END;
CREATE TRIGGER review_aliases_keep_delete BEFORE DELETE ON review_aliases
BEGIN SELECT RAISE(ABORT, 'new names of subjects are kept for ever: they cannot be deleted'); END;
CREATE TRIGGER review_aliases_keep_insert BEFORE INSERT ON review_aliases
WHEN EXISTS (SELECT 1 FROM review_aliases WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'new names of subjects are kept for ever: one stands in this place already'); END;
