-- Grain: one row an upload that is a copy, a conflict, a second log of an attempt, or somebody else's long log.
-- Reads `uploads` (one row an upload; everything that may be related lies in it).  Order of uploads: uploaded_at, then game_id,
-- then everything else that an upload says; day, file and line only tell apart uploads that are equal in all of it, so nothing
-- depends on the order of files.
with numbered as (
    select
        *,
        dense_rank() over (
            order by
                game, mode, rules, challenge, player_id, attempt, log_hash_low, log_hash_high, score, best_combo, level, lines,
                final_board
        ) as content
    from uploads
),
identified as (
    select
        *,
        row_number() over (
            order by
                uploaded_at, game_id, finished_at, content, started_at, player_kind, nation nulls first, platform, app_version,
                day, source_file, source_line
        ) as turn
    from numbered
),
-- One game_id with different contents: the first uploaded stands; under different players none does.
by_id as (
    select
        game_id,
        count(distinct content) as contents,
        count(distinct player_id) as players,
        arg_min(content, turn) as first_content,
        min(uploaded_at) as first_uploaded_at
    from identified
    group by game_id
    having count(distinct content) > 1
),
with_conflicts as (
    select
        identified.*,
        by_id.contents,
        by_id.players,
        by_id.first_uploaded_at,
        coalesce(by_id.players > 1 or identified.content <> by_id.first_content, false) as is_conflicting
    from identified
    left join by_id on by_id.game_id = identified.game_id
),
-- The same content again is one game: the first upload that no conflict touches stands for it, else the first.
by_content as (
    select
        content,
        coalesce(min(turn) filter (not is_conflicting), min(turn)) as standing_turn,
        bool_or(not is_conflicting) as has_clean_upload
    from with_conflicts
    group by content
),
with_copies as (
    select
        with_conflicts.*,
        standing.game_id as standing_game_id,
        with_conflicts.turn <> by_content.standing_turn
            and (by_content.has_clean_upload or not with_conflicts.is_conflicting) as is_copy
    from with_conflicts
    inner join by_content on by_content.content = with_conflicts.content
    inner join identified as standing on standing.turn = by_content.standing_turn
),
-- Different logs under one attempt: the first uploaded stands.  Only games in the challenge's own mode and rules have attempts.
by_attempt as (
    select
        game, challenge, player_id, attempt,
        arg_min(log_hash_low, turn) as first_low,
        arg_min(log_hash_high, turn) as first_high,
        arg_min(game_id, turn) as first_game_id
    from identified
    where has_attempt
    group by game, challenge, player_id, attempt
),
-- The same long log of one deal: whose was uploaded first.
by_log as (
    select
        game, challenge, log_hash_low, log_hash_high,
        arg_min(player_id, turn) as first_player_id,
        arg_min(game_id, turn) as first_game_id,
        count(distinct player_id) as log_players
    from identified
    where is_long
    group by game, challenge, log_hash_low, log_hash_high
),
related as (
    select
        upload.day, upload.source_file, upload.source_line, upload.game_id, upload.attempt,
        upload.is_copy,
        upload.standing_game_id,
        upload.is_conflicting and not upload.is_copy as is_conflicting,
        upload.contents, upload.players, upload.first_uploaded_at,
        coalesce(
            upload.has_attempt and not upload.is_copy
            and (upload.log_hash_low <> by_attempt.first_low or upload.log_hash_high <> by_attempt.first_high), false
        ) as is_duplicate,
        by_attempt.first_game_id as attempt_game_id,
        coalesce(upload.is_long and not upload.is_copy and by_log.first_player_id <> upload.player_id, false) as is_copied_log,
        by_log.first_game_id as log_game_id,
        by_log.log_players
    from with_copies as upload
    left join by_attempt
        on by_attempt.game = upload.game and by_attempt.challenge = upload.challenge
        and by_attempt.player_id = upload.player_id and by_attempt.attempt = upload.attempt
    left join by_log
        on by_log.game = upload.game and by_log.challenge = upload.challenge
        and by_log.log_hash_low = upload.log_hash_low and by_log.log_hash_high = upload.log_hash_high
)
select * from related
where is_copy or is_conflicting or is_duplicate or is_copied_log
order by day, source_file, source_line
