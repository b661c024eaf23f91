-- Grain: one row an upload that is a copy, a conflict, a second log of an attempt, or somebody else's long log.
-- Reads `uploads` (one row an upload; everything that may be related lies in it).  Order of uploads: uploaded_at, then game_id,
-- then everything else that an upload says; day, file and line only tell apart uploads that are equal in all of it, so nothing
-- depends on the order of files.
-- A replay that gives all that is claimed gives it however the board is written, and whether level and lines are claimed or not.
with confirmed as (
    select
        *,
        bool_or(comes_out) over (
            partition by
                game, mode, rules, challenge, player_id, attempt, log_hash_low, log_hash_high, score, best_combo, level, lines,
                final_board
        ) as is_confirmed
    from uploads
),
numbered as (
    select
        *,
        dense_rank() over (
            order by
                game, mode, rules, challenge, player_id, attempt, log_hash_low, log_hash_high, score, best_combo, is_confirmed,
                case when not is_confirmed then level end, case when not is_confirmed then lines end,
                case when not is_confirmed then final_board end
        ) as content
    from confirmed
),
identified as (
    select
        *,
        row_number() over (
            order by
                uploaded_at, game_id, finished_at, content, started_at, player_kind, nation nulls first, platform, app_version,
                level, lines, final_board, day, source_file, source_line
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
-- The logs of many choices of one deal, each once; a game without a clock and an old row have no hash of their inputs, and there
-- the whole log's stands for it.
long_logs as (
    select
        game, challenge, log_key, coalesce(inputs_hash, log_hash_high) as inputs, log_hash_low, log_hash_high,
        any_value(thinks) as thinks,
        len(any_value(thinks)) as times,
        min(turn) as first_turn
    from identified
    where is_long
    group by game, challenge, log_key, inputs, log_hash_low, log_hash_high
),
placed_logs as (
    select
        *,
        row_number() over (partition by game, challenge, log_key, inputs order by first_turn) as place
    from long_logs
),
-- With a clock: the same inputs whose times of thought are the same but for a few ticks.  Each log is held against the earliest
-- of its inputs only, so that thousands of moved copies of one log cost no square of their number.
moved_logs as (
    select
        one.*,
        other.log_hash_low as other_low,
        other.log_hash_high as other_high,
        list_sum([
            (abs(pair[1]::integer - pair[2]::integer) <= $delay_ticks)::integer for pair in list_zip(one.thinks, other.thinks)
        ]) as times_alike
    from placed_logs as one
    inner join (select * from placed_logs where place <= $earliest) as other
        on other.game = one.game and other.challenge = one.challenge
        and other.log_key = one.log_key and other.inputs = one.inputs and other.times = one.times
    where one.times >= $least_times and one.place <> other.place
),
-- Which logs are one: each with itself, and with those that are it with its times moved.
same_logs as (
    select
        game, challenge, log_hash_low, log_hash_high, log_hash_low as other_low, log_hash_high as other_high, times,
        0 as times_alike
    from placed_logs
    union all
    select game, challenge, log_hash_low, log_hash_high, other_low, other_high, times, times_alike
    from moved_logs
    where 100 * times_alike >= $alike_percent * times
),
-- Whose such a log was first.
first_logs as (
    select
        same.game, same.challenge, same.log_hash_low, same.log_hash_high,
        arg_min(same.other_low, upload.turn) as first_low,
        arg_min(same.other_high, upload.turn) as first_high,
        arg_min(upload.player_id, upload.turn) as first_player_id,
        arg_min(upload.player_kind, upload.turn) as first_player_kind,
        arg_min(upload.game_id, upload.turn) as first_game_id,
        any_value(same.times) as times,
        arg_min(same.times_alike, upload.turn) as times_alike
    from same_logs as same
    inner join identified as upload
        on upload.is_long and upload.game = same.game and upload.challenge = same.challenge
        and upload.log_hash_low = same.other_low and upload.log_hash_high = same.other_high
    group by same.game, same.challenge, same.log_hash_low, same.log_hash_high
),
-- Each first log with itself and all logs that it is the first of.
log_families as (
    select game, challenge, first_low, first_high, log_hash_low, log_hash_high from first_logs
    union
    select game, challenge, first_low, first_high, first_low as log_hash_low, first_high as log_hash_high from first_logs
),
log_sharers as (
    select family.game, family.challenge, family.first_low, family.first_high, count(distinct upload.player_id) as log_players
    from log_families as family
    inner join identified as upload
        on upload.is_long and upload.game = family.game and upload.challenge = family.challenge
        and upload.log_hash_low = family.log_hash_low and upload.log_hash_high = family.log_hash_high
    group by family.game, family.challenge, family.first_low, family.first_high
),
by_log as (
    select
        first.*,
        first.first_low = first.log_hash_low and first.first_high = first.log_hash_high as is_same_text,
        sharers.log_players
    from first_logs as first
    inner join log_sharers as sharers
        on sharers.game = first.game and sharers.challenge = first.challenge
        and sharers.first_low = first.first_low and sharers.first_high = first.first_high
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
        -- Two AI players may be one program, which plays one deal in one way.
        coalesce(
            upload.is_long and not upload.is_copy and by_log.first_player_id <> upload.player_id
            and (upload.player_kind <> 'ai' or by_log.first_player_kind <> 'ai'), false
        ) as is_copied_log,
        by_log.first_game_id as log_game_id,
        by_log.log_players,
        upload.choices,
        by_log.is_same_text,
        by_log.times,
        by_log.times_alike
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
