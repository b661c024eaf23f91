-- Grain: one trigger a way in which a recorded release could be lost; each refuses.
-- REPLACE removes rows without a word to the trigger on delete, so a row that would take another's place is refused as it comes.
CREATE TRIGGER review_releases_keep_update BEFORE UPDATE ON review_releases
BEGIN SELECT RAISE(ABORT, 'releases are kept for ever: they cannot be changed'); END;
CREATE TRIGGER review_releases_keep_delete BEFORE DELETE ON review_releases
BEGIN SELECT RAISE(ABORT, 'releases are kept for ever: they cannot be deleted'); END;
CREATE TRIGGER review_releases_keep_insert BEFORE INSERT ON review_releases
WHEN EXISTS (SELECT 1 FROM review_releases WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'releases are kept for ever: one stands in this place already'); END;
