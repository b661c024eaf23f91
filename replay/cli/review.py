"""``replay review``: what people decided about flagged games, and deciding."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replay.cli import common
from replay.cli.boards import LimitOption, OffsetOption
from replay.errors import InputError, UsageError
from replay.words import visible

if TYPE_CHECKING:
    from replay.lake import Lake
    from replay.reviews.drafts import Draft
    from replay.reviews.model import Decision
    from replay.reviews.store import ReviewStore


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("review")(review)


def _option(name: str, text: str) -> Any:
    return typer.Option(name, help=text, show_default=False)


@dataclass(frozen=True)
class Call:
    """What was asked for: the lake as it was named, who decides and why, and what they saw (None: look now)."""

    lake: str
    reviewer: str
    reason: str
    seen: int | None
    as_json: bool


# Typer reads them from the signature; here they have the room to be read.
_Uphold = Annotated[bool, typer.Option("--uphold", help="The flag is right: the game never counts.")]
_Clear = Annotated[bool, typer.Option("--clear", help="Nothing is wrong: the game counts with its claimed score.")]
_Note = Annotated[bool, typer.Option("--note", help="Leave a note, which decides nothing.")]
_Undo = Annotated[int | None, typer.Option("--undo", help="Take this decision back.", show_default=False, metavar="ID")]
_Batch = Annotated[bool, typer.Option("--batch", help="With --undo: all that was decided together with it too.")]
ReviewerOption = Annotated[
    str | None, typer.Option("--reviewer", envvar="REPLAY_REVIEWER", help="Who decides (login name).", show_default=False)
]
_Seen = Annotated[
    int | None, typer.Option("--seen", help="Refuse when a decision came after this one.", show_default=False, metavar="ID")
]
_Yes = Annotated[bool, typer.Option("--yes", help="Decide about all these games; else only what would move is shown.")]


def review(
    lake: common.LakeOption,
    game_id: Annotated[str | None, typer.Argument(metavar="[GAME_ID]", help="A game of the lake.", show_default=False)] = None,
    uphold: _Uphold = False,
    clear: _Clear = False,
    note: _Note = False,
    undo: _Undo = None,
    batch: _Batch = False,
    reason: Annotated[str | None, _option("--reason", "Why, in at most 2,000 characters; kept for ever.")] = None,
    reviewer: ReviewerOption = None,
    seen: _Seen = None,
    day: Annotated[str | None, _option("--day", "Which upload under the id: the day that it landed.")] = None,
    file: Annotated[str | None, _option("--file", "Which upload under the id: its log file.")] = None,
    line: Annotated[int | None, _option("--line", "Which upload under the id: its line.")] = None,
    where_day: Annotated[str | None, _option("--where-day", "All games: that landed on this day.")] = None,
    where_game: Annotated[str | None, _option("--where-game", "All games: blocks, tetromino or tetcolor.")] = None,
    where_reason: Annotated[str | None, _option("--where-reason", "All games: flagged for this reason.")] = None,
    where_suspicion: Annotated[str | None, _option("--where-suspicion", "All games: with it, verified ones too.")] = None,
    where_player: Annotated[str | None, _option("--where-player", "All games: of this player.")] = None,
    where_platform: Annotated[str | None, _option("--where-platform", "All games: from this platform.")] = None,
    where_app_version: Annotated[str | None, _option("--where-app-version", "All games: from this version of the app.")] = None,
    where_nation: Annotated[str | None, _option("--where-nation", "All games: of this nation; none: without one.")] = None,
    where_held: Annotated[bool, typer.Option("--where-held", help="All games: those held back, not the flagged ones.")] = False,
    where_state: Annotated[str | None, _option("--where-state", "All games: open, upheld, cleared or returned.")] = None,
    yes: _Yes = False,
    limit: LimitOption = 20,
    offset: OffsetOption = 0,
    as_json: common.JsonOption = False,
) -> None:
    """List decisions, show one game's review, or decide: about one game, or with --where-… about all flagged games that fit.

    A decision is kept for ever; undoing it is another one.  Exit code 0 when it was recorded, 1 when somebody else decided in
    between, 2 for wrong use.
    """
    given = {
        "day": where_day, "game": where_game, "reason": where_reason, "suspicion": where_suspicion, "player": where_player,
        "platform": where_platform, "app_version": where_app_version, "nation": where_nation, "state": where_state,
        "kind": "withheld" if where_held else None,
    }  # fmt: skip
    wishes = {name: value for name, value in given.items() if value is not None}
    pick = {"day": None if day is None else common.parse_day(day), "file": file, "line": line}
    action = _action(uphold, clear, note, undo, reason)
    _refuse_mixtures(action, game_id, wishes, pick, yes, seen)
    if batch and (undo is None or game_id is not None):
        raise UsageError("--batch goes with --undo ID, and with no game")
    name = "" if action is None else reviewer if reviewer is not None else login_name()
    call = Call(lake, name, reason or "", seen, as_json)
    if action is None:
        _look(game_id, pick, limit, offset, call)
    elif undo is not None:
        _undo(undo, game_id, batch, call)
    else:
        _decide(action, game_id, pick, wishes, yes, call)


def _action(uphold: bool, clear: bool, note: bool, undo: int | None, reason: str | None) -> str | None:
    given = {"uphold": uphold, "clear": clear, "note": note, "undo": undo is not None}
    names = [name for name, is_given in given.items() if is_given]
    if len(names) > 1:
        raise UsageError(f"--{names[0]} and --{names[1]} are two decisions, give one of them")
    if reason is not None and not names:
        raise UsageError("--reason without a decision, give --uphold, --clear, --note or --undo ID with it")
    if names and reason is None:
        raise UsageError(f"--{names[0]}: say why with --reason TEXT")
    return names[0] if names else None


def _refuse_mixtures(
    action: str | None, game_id: str | None, wishes: Mapping[str, str], pick: Mapping[str, object], yes: bool, seen: int | None
) -> None:
    """Raises UsageError for options that do not go together: what was meant cannot be known."""
    picked = [f"--{name}" for name, value in pick.items() if value is not None]
    is_bulk = game_id is None and action in ("uphold", "clear", "note")
    if picked and (game_id is None or action == "undo"):
        raise UsageError(f"{picked[0]} picks one upload of a game, name the game (for many games there is --where-day)")
    if wishes and not is_bulk:
        option = f"--where-{next(iter(wishes)).replace('_', '-')}" if "kind" not in wishes else "--where-held"
        raise UsageError(f"{option} is for decisions about many games: give --uphold, --clear or --note, and no game")
    if is_bulk and not wishes:
        raise UsageError(f"--{action}: name a game, or say with --where-day, --where-reason and the like which games are meant")
    if yes and not is_bulk:
        raise UsageError("--yes is for decisions about many games, with --where-… and no game")
    if seen is not None and action is None:
        raise UsageError("--seen without a decision, give --uphold, --clear, --note or --undo ID with it")


def login_name() -> str:
    """The name of whoever runs this.  Raises UsageError where nobody is known."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:
        raise UsageError("who decides is not known here, name yourself with --reviewer or REPLAY_REVIEWER") from error


# --- Looking -----------------------------------------------------------------------------------------------------------------


def _look(game_id: str | None, pick: Mapping[str, Any], limit: int, offset: int, call: Call) -> None:
    from replay.lake import open_lake
    from replay.reviews.store import open_reviews

    with open_lake(call.lake) as where, open_reviews(where) as store:
        if game_id is None:
            common.refuse_no_lake(where)
            _list(store, limit, offset, call.as_json)
        else:
            _show(where, store, game_id, pick, call)


def _list(store: ReviewStore, limit: int, offset: int, as_json: bool) -> None:
    from replay.reviews.model import undone_ids
    from replay.reviews.words import DONE, time_words

    found = store.decisions(limit=limit, newest_first=True, offset=offset)
    if as_json:
        common.print_lines(decision.as_json() for decision in found)
        return
    total = store.count()
    if not found:
        beyond = f"there are {total:,}, none beyond {offset:,}" if total else "none yet; find a game with `replay flags`"
        common.console().print(f"Decisions: {beyond}")
        return
    undone = undone_ids(store.decisions(subjects={decision.subject for decision in found}))
    columns = [(name, "left") for name in ("when (UTC)", "who", "what", "game", "why")]
    out = common.table("Decisions", ("id", "right"), *columns)
    for one in found:
        what = f"undid {one.undoes}" if one.undoes is not None else DONE[one.action]
        gone = " (undone)" if one.id in undone else ""
        when = time_words(one.at).removesuffix(" UTC")
        out.add_row(str(one.id), when, visible(one.reviewer), what + gone, visible(one.game_id), visible(one.reason, 120))
    common.console().print(out)
    if total > len(found):
        common.console().print(f"{offset + 1:,} to {offset + len(found):,} of {total:,}")


def _show(where: Lake, store: ReviewStore, game_id: str, pick: Mapping[str, Any], call: Call) -> None:
    from replay.reviews.games import facts_of_row, find_game, same_game
    from replay.reviews.incidents import releases_in_force
    from replay.reviews.model import counts, review_of, undone_ids, why_not_counted
    from replay.reviews.releases import as_released, group_of, release_words, standing_by_group
    from replay.reviews.words import decision_words, fact_lines, state_words, verdict_words

    try:
        asked = find_game(where, game_id, **pick, copies=True)
        same = same_game(where, asked)
    except InputError as error:
        _show_without_game(store, game_id, str(error), call)
        return
    row = same.row
    released = standing_by_group(releases_in_force(where, store.releases())) if row["verdict"] == "withheld" else {}
    release = released.get(group_of(row)) if released else None
    row = as_released(row, released)
    decisions = store.decisions(same.subjects)
    facts = facts_of_row(row)
    found, why = review_of(decisions, facts), why_not_counted(row)
    counted = counts(row, found)
    if call.as_json:
        import json

        common.print_json({
            "asked": game_id, "game_id": row["game_id"], "game": row["game"], "challenge": row["challenge"],
            "player_id": row["player_id"],
            "day": row["day"], "source": {"file": row["source_file"], "line": row["source_line"]}, "verdict": row["verdict"],
            "release": None if release is None else release.as_json(), "state": found.state, "counts": counted,
            "why_not_counted": why, "facts": [json.loads(fact) for fact in facts],
            "new_facts": [json.loads(fact) for fact in found.new_facts],
            "standing": None if found.decision is None else found.decision.id,
            "seen": max((decision.id for decision in decisions), default=0),
            "decisions": [decision.as_json() for decision in decisions],
        })  # fmt: skip
        return
    stands, challenge, player_id = (visible(row[name]) for name in ("game_id", "challenge", "player_id"))
    lines = [
        *([] if same.row is asked else [f"Game {visible(game_id)} is a copy of the following one, which stands in its place."]),
        f"Game {stands} ({row['game']}, challenge {challenge}, player {player_id})",
        f"Landed on {row['day']} in {visible(row['source_file'])}, line {row['source_line']:,}: {verdict_words(row['verdict'])}.",
        *([] if release is None else [f"Its night held it back with its app version; {release_words(release)}"]),
        f"Review: {state_words(found)}.",
        f"So it {'counts' if counted else 'does not count'} in the standings.",
    ]
    lines += ["What speaks against it:" if facts else "Nothing speaks against it."]
    lines += [f"  {line}" for line in fact_lines(facts, found.decision)]
    if row["verdict"] in ("flagged", "withheld") and why and not counted:
        lines.append(f"Clearing it would not make it count: {why}.")
    lines += ["Decisions:"] if decisions else []
    lines += [f"  {decision_words(decision, undone_ids(decisions), row['game_id'])}" for decision in decisions]
    _print(lines)


def _show_without_game(store: ReviewStore, game_id: str, problem: str, call: Call) -> None:
    """Decisions stay when their game is gone; a game without any is a mistake in the call."""
    from replay.reviews.model import undone_ids
    from replay.reviews.words import decision_words

    decisions = store.decisions(game_id=game_id)
    if not decisions:
        raise InputError(problem)
    if call.as_json:
        common.print_json({"game_id": game_id, "problem": problem, "decisions": [decision.as_json() for decision in decisions]})
        return
    undone = undone_ids(decisions)
    _print([f"{visible(problem, 400)}.", "Decisions about it:", *(f"  {decision_words(one, undone)}" for one in decisions)])


def _print(lines: Sequence[str]) -> None:
    out = common.console()
    for line in lines:
        out.print(line, soft_wrap=True)


# --- Deciding ----------------------------------------------------------------------------------------------------------------


def _decide(
    action: str, game_id: str | None, pick: Mapping[str, Any], wishes: Mapping[str, str], yes: bool, call: Call
) -> None:
    from replay.lake import open_lake
    from replay.reviews.games import draft, find_game, same_game
    from replay.reviews.store import open_reviews

    with open_lake(call.lake) as where, open_reviews(where) as store:
        if game_id is None:
            from replay.cli.review_many import decide_many

            decide_many(where, store, action, wishes, yes, call)
            return
        same = same_game(where, find_game(where, game_id, **pick))
        decisions = store.decisions(same.subjects)
        _record(where, store, draft(action, same.row, decisions, copies=same.copies), same.row, decisions, call)


def _undo(number: int, game_id: str | None, batch: bool, call: Call) -> None:
    from replay.lake import open_lake
    from replay.reviews.games import draft, game_of, undo_draft
    from replay.reviews.store import open_reviews

    with open_lake(call.lake) as where, open_reviews(where) as store:
        undone = store.decision(number)
        same = game_of(where, undone)
        if game_id not in (None, undone.game_id, same and same.row["game_id"]):
            raise UsageError(f"decision {number} is about game {undone.game_id!a}, not {game_id!a}")
        if batch:
            from replay.cli.review_many import undo_many

            undo_many(where, store, undone, call)
            return
        if same is None:
            decisions = store.decisions([undone.subject])
            _record(where, store, undo_draft(undone, decisions), None, decisions, call)
        else:
            decisions = store.decisions(same.subjects)
            _record(where, store, draft("undo", same.row, decisions, number, same.copies), same.row, decisions, call)


def _record(
    where: Lake, store: ReviewStore, draft: Draft, row: Mapping[str, Any] | None, before: Sequence[Decision], call: Call
) -> None:
    from dataclasses import replace

    from replay.reviews.incidents import releases_in_force
    from replay.reviews.model import counts, review_of, why_not_counted
    from replay.reviews.releases import as_released, standing_releases
    from replay.reviews.words import decision_words, state_words

    if call.seen is not None:
        draft = replace(draft, seen=call.seen)
    (made,) = store.decide([draft], reviewer=call.reviewer, reason=call.reason)
    found = review_of([*before, made], draft.facts)
    counted = why = None
    if row is not None:
        known = store.releases() if row["verdict"] == "withheld" else []
        row = as_released(row, standing_releases(releases_in_force(where, known)))
        counted, why = (counts(row, review_of(before, draft.facts)), counts(row, found)), why_not_counted(row)
    if call.as_json:
        more = {} if counted is None else {"counted": counted[0], "counts": counted[1], "why_not_counted": why}
        common.print_json(made.as_json() | {"state": found.state} | more)
        return
    newest = decision_words(before[-1]) if before else "no decision on this game"
    lines = [f"Found before it: {newest}", f"Recorded: {decision_words(made)}", f"Review: {state_words(found)}."]
    if made.action == "note":
        _print([*lines, "A note moves nothing in the standings."])
        return
    if counted is not None and row is not None:
        lines.append(_counts_words(*counted, score=row["score"]))
    if made.action == "clear" and why and row is not None and row["verdict"] != "verified" and not counts(row, found):
        lines.append(f"Clearing it does not make it count: {why}.")
    _print([*lines, next_words(call.lake)])


def _counts_words(before: bool, after: bool, score: int) -> str:
    if before == after:
        return "It counts, as before." if after else "It does not count, as before."
    return f"It will count, with the score that was claimed ({score:,})." if after else "It will not count any more."


def next_words(lake: str) -> str:
    """What happens after a decision."""
    return f"Standings take it up the next night, or at once with `replay standings --restate --lake {shell_word(lake)}`."


def shell_word(text: str) -> str:
    """A word as it can be pasted into a shell; harmless to look at."""
    return visible(shlex.quote(text), 1000)
