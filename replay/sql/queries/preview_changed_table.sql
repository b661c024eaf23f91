-- Grain: one row per upload of a landed day that differs between the two sides of a preview (filled by preview_changed.sql).
CREATE TABLE changed (
    day DATE NOT NULL,
    source_file VARCHAR NOT NULL,
    source_line BIGINT NOT NULL,
    game_id VARCHAR,
    player_id VARCHAR,
    game VARCHAR,
    challenge VARCHAR,
    attempt BIGINT,
    claimed BIGINT,
    verdict_before VARCHAR,
    verdict_after VARCHAR,
    reasons_before VARCHAR[] NOT NULL,
    reasons_after VARCHAR[] NOT NULL,
    score_before BIGINT,
    score_after BIGINT,
    counted_before BOOLEAN NOT NULL,
    counted_after BOOLEAN NOT NULL
)
