"""Deciding about many games at once, for ``replay review``: all flagged games that fit, after a look at what would move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from replay.cli import common
from replay.words import visible

if TYPE_CHECKING:
    from replay.cli.review import Call
    from replay.flags import FlagFilter
    from replay.lake import Lake
    from replay.moves import Moves
    from replay.reviews.drafts import Draft
    from replay.reviews.model import Decision
    from replay.reviews.store import ReviewStore

_SHOWN_MOVES = 10
_SHOWN_GAMES = 8
_DOING = {"uphold": "uphold", "clear": "clear", "note": "leave a note on"}


@dataclass(frozen=True)
class _Many:
    """The games to decide about: their rows and drafts, how many are decided so already, how many decisions and releases wait for
    a night besides, and the id of the newest decision that was looked at."""

    action: str
    rows: list[dict[str, Any]]
    drafts: list[Draft]
    already: int
    waiting: int
    releases_waiting: int
    seen: int


def decide_many(where: Lake, store: ReviewStore, action: str, wishes: Mapping[str, str], yes: bool, call: Call) -> None:
    """Show what deciding about the games that fit would move; with ``yes`` decide, about all of them or none.

    Games that are decided so already are left alone; games that only look unusual are meant when a suspicion is asked for, and
    those that are held back when they are.
    Raises UsageError, InputError and DecidedMeanwhile.
    """
    from replay.flags import parse_filter
    from replay.moves import what_would_move
    from replay.reviews.drafts import LONGEST_REASON, LONGEST_REVIEWER, checked_words

    checked_words("reason", call.reason, LONGEST_REASON)
    checked_words("reviewer", call.reviewer, LONGEST_REVIEWER)
    wanted = parse_filter({**({} if "suspicion" in wishes else {"kind": "flagged"}), **wishes}, "--where-")
    many = _find(where, store, action, wanted, call.seen)
    moves = None
    if many.drafts and action != "note":
        moves = what_would_move(where, common.load_settings().night(), many.drafts)
    made = store.decide(many.drafts, reviewer=call.reviewer, reason=call.reason) if yes else []
    if call.as_json:
        common.print_json({
            "action": action, "games": len(many.rows), "decided_so_already": many.already, "states": _states(many.rows),
            "would_not_count": _uncounted(many.rows) if action == "clear" else {}, "waiting": many.waiting,
            "releases_waiting": many.releases_waiting, "seen": many.seen,
            "game_ids": [row["game_id"] for row in many.rows], "moves": None if moves is None else moves.as_json(),
            "decisions": [decision.as_json() for decision in made],
        })  # fmt: skip
        return
    _print(many, moves, [decision.id for decision in made], call)


def _find(where: Lake, store: ReviewStore, action: str, wanted: FlagFilter, seen: int | None) -> _Many:
    from replay.flags import query_flags
    from replay.reviews.games import copies_among, draft
    from replay.reviews.incidents import releases_in_force
    from replay.reviews.model import waiting
    from replay.reviews.releases import waiting_groups
    from replay.standings_queries import query_publication

    where.refresh("standings")
    warehouse = where.current_warehouse()
    decisions = store.decisions()
    newest = max((decision.id for decision in decisions), default=0) if seen is None else seen
    page = query_flags(warehouse, decisions, wanted, limit=None)
    rows, history = page.rows, page.history
    already = {"uphold": "upheld", "clear": "cleared"}.get(action)
    # The same upload may lie in two files.
    left = {row["subject"]: row for row in rows if row["review"].state != already or row["review"].new_facts}
    known = {subject: history.get(subject, []) for subject in left}
    drafts = [
        replace(draft(action, row, known[subject], copies=copies_among(subject, known[subject])), seen=newest)
        for subject, row in left.items()
    ]
    through: Any = query_publication(warehouse)
    groups = waiting_groups(releases_in_force(where, store.releases()), through["releases_through"])
    already_so = len({row["subject"] for row in rows} - left.keys())
    return _Many(
        action, list(left.values()), drafts, already_so, waiting(decisions, through["reviews_through"]), groups, newest
    )


def undo_many(where: Lake, store: ReviewStore, first: Decision, call: Call) -> None:
    """Take back what was decided together with ``first``, where it still is the newest on its game; all or none.

    Raises UsageError when it is on no game, DecidedMeanwhile and InputError.
    """
    from replay.errors import UsageError
    from replay.flags import history_in
    from replay.reviews.games import copies_among, undo_draft

    where.refresh("standings")
    decisions = store.decisions()
    history = history_in(where, decisions)
    together = [one for one in decisions if one.id == first.id or (one.batch is not None and one.batch == first.batch)]
    left = [one for one in together if history[one.subject][-1].id == one.id]
    if not left:
        raise UsageError(f"decision {first.id}: nothing decided with it is the newest on its game any more, undo one by one")
    newest = decisions[-1].id if call.seen is None else call.seen
    known = [(one, history[one.subject]) for one in left]
    drafts = [replace(undo_draft(one, all_of, copies_among(one.subject, all_of)), seen=newest) for one, all_of in known]
    made = store.decide(drafts, reviewer=call.reviewer, reason=call.reason)
    if call.as_json:
        common.print_lines(decision.as_json() for decision in made)
        return
    from replay.cli.review import next_words

    out = common.console()
    others = len(together) - len(left)
    skipped = f"; left alone: {_games(others)} that somebody decided about since" if others else ""
    lines = [
        f"Taken back: what was decided about {_games(len(made))} together{skipped}.",
        f"Recorded: {_numbers([one.id for one in made])}, by {visible(call.reviewer)}: {visible(call.reason, 200)}",
        next_words(call.lake),
    ]
    for line in lines:
        out.print(line, soft_wrap=True)


def _numbers(made: Sequence[int]) -> str:
    return f"decision {made[0]}" if len(made) == 1 else f"decisions {made[0]} to {made[-1]}"


def _states(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    from replay.reviews.model import STATES

    found = Counter(row["review"].state for row in rows)
    return {state: found[state] for state in STATES if found[state]}


def _uncounted(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many of the flagged and withheld games would not count even when they are cleared, by why."""
    from replay.reviews.model import why_not_counted

    found = Counter(why for row in rows if row["verdict"] != "verified" and not row["counted"] and (why := why_not_counted(row)))
    return dict(sorted(found.items()))


def _print(many: _Many, moves: Moves | None, made: Sequence[int], call: Call) -> None:
    from replay.cli.review import next_words, shell_word

    out = common.console()

    def say(line: str) -> None:
        out.print(line, soft_wrap=True)

    left = f"; {_games(many.already)} left alone, decided so already" if many.already else ""
    if not many.rows:
        say(f"No game fits{left}. Look with `replay flags --lake {shell_word(call.lake)}`.")
        return
    states = ", ".join(f"{number:,} {state}" for state, number in _states(many.rows).items())
    say(f"{_games(len(many.rows))} to {_DOING[many.action]} ({states}){left}.")
    shown = [visible(row["game_id"]) for row in many.rows[:_SHOWN_GAMES]]
    say(f"{', '.join(shown)}{f' and {len(many.rows) - len(shown):,} more' if len(many.rows) > len(shown) else ''}")
    if many.action == "clear":
        for why, number in _uncounted(many.rows).items():
            say(f"Of them {_games(number)} will not count even so: {why}.")
    if moves is not None:
        show_moves(moves, waiting_words(many.waiting, many.releases_waiting))
    if made:
        say(f"Recorded: {_numbers(made)}, by {visible(call.reviewer)}: {visible(call.reason, 200)}")
        say("A note moves nothing in the standings." if many.action == "note" else next_words(call.lake))
    else:
        say(f"Nothing is decided yet: give the same call with --yes --seen {many.seen} to decide about these games.")


def _games(number: int) -> str:
    return "1 game" if number == 1 else f"{number:,} games"


def waiting_words(games: int, groups: int) -> str:
    """What else a preview moves, as it waits for the next night: games that were decided about, groups that were released."""
    waits = [f"what was decided about {_games(games)}"] if games else []
    if groups:
        waits.append(f"what was released or held back again of {groups:,} app version{'' if groups == 1 else 's'}")
    return f", together with {' and '.join(waits)} and waits for the next night" if waits else ""


def show_moves(moves: Moves, besides: str = "") -> None:
    """What would move in the standings, ``besides`` saying with what else that waits."""
    from replay.cli.boards import show_rows

    counted = (
        f"players {moves.players:,}, bests {moves.bests:,}, totals {moves.totals_moved:,}, positions {moves.positions:,}, tiers"
        f" {moves.tiers:,}"
    )
    common.console().print(f"What would move in the standings{besides}: {counted}.", soft_wrap=True)
    columns = ("game", "player_id", "total_before", "total_after", "position_before", "position_after")
    rows = list(moves.totals)[:_SHOWN_MOVES]
    if rows:
        show_rows("What moves most", rows, columns)
