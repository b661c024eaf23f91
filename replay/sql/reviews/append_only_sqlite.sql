-- Grain: one trigger a way in which a recorded decision, or the new name of a subject, could be lost; each refuses.
-- REPLACE removes rows without a word to the triggers on delete, so a row that would take another's place is refused as it comes.
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
