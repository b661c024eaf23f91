"""A verdict in words: plain sentences that a support person can repeat to the player, in the player's language (``i18n``).

They say what was uploaded, what the replay found and from which move on the two part; they accuse nobody of anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from replay.games import NAMES, GameKind, kind_of
from replay.harmless import SHOWN_TEXT, visible
from replay.i18n import ENGLISH, N_, Language
from replay.reason_words import FAULT_WORDS, IMPOSSIBLE_WORDS, REASON_WORDS, SHOWN_CELLS, Told, fault_words
from replay.record import Record
from replay.suspicion_words import ALONE, copied_details, even_times, fast_choices, odd_clock
from replay.suspicions import EVIDENT
from replay.verdict import NUMBER_CLAIMS, Verdict

if TYPE_CHECKING:
    from replay.games.kind import Rules


def words(
    verdict: Verdict, rules: Rules | None = None, record: Record | None = None, language: Language = ENGLISH
) -> list[str]:
    """The verdict in plain sentences to repeat to the player: what was uploaded, what the replay found, where they part.

    ``rules`` adds which cells of the board differ, ``record`` how long the game took.  Raises KeyError for a code without words.
    """
    told = Told(verdict, rules, record, language)
    out = VERDICT_WORDS[verdict.verdict](told)
    for reason in verdict.reasons:
        out += REASON_WORDS[reason.code](reason, told)
    for key, value in (verdict.evidence or {}).items():
        out += _evidence_words(key, value, told)
    for code in verdict.suspicions:
        out += SUSPICION_WORDS[code](told)
    return out


def _verified_words(told: Told) -> list[str]:
    at = told.verdict.replayed or told.verdict.claimed
    say, ngettext, claimed = told.say, told.language.ngettext, told.verdict.claimed
    numbers = {"score": say(at["score"]), "best_combo": say(at["best_combo"])}
    # Only what was claimed: a level or a number of lines that nobody uploaded is nothing to confirm.
    numbers |= {name: say(at[name]) for name in ("level", "lines") if claimed.get(name) is not None}
    if "level" in numbers and "lines" in numbers:
        first = ngettext(
            "The game comes out as it was uploaded: {count} move give the score {score}, the best combo {best_combo}, the level "
            "{level}, {lines} cleared lines and the same final board.",
            "The game comes out as it was uploaded: {count} moves give the score {score}, the best combo {best_combo}, the level "
            "{level}, {lines} cleared lines and the same final board.", at["moves"], **numbers,
        )  # fmt: skip
    elif "level" in numbers:
        first = ngettext(
            "The game comes out as it was uploaded: {count} move give the score {score}, the best combo {best_combo}, the level "
            "{level} and the same final board.",
            "The game comes out as it was uploaded: {count} moves give the score {score}, the best combo {best_combo}, the level "
            "{level} and the same final board.", at["moves"], **numbers,
        )  # fmt: skip
    elif "lines" in numbers:
        first = ngettext(
            "The game comes out as it was uploaded: {count} move give the score {score}, the best combo {best_combo}, {lines} "
            "cleared lines and the same final board.",
            "The game comes out as it was uploaded: {count} moves give the score {score}, the best combo {best_combo}, {lines} "
            "cleared lines and the same final board.", at["moves"], **numbers,
        )  # fmt: skip
    else:
        first = ngettext(
            "The game comes out as it was uploaded: {count} move give the score {score}, the best combo {best_combo} and the "
            "same final board.",
            "The game comes out as it was uploaded: {count} moves give the score {score}, the best combo {best_combo} and the "
            "same final board.", at["moves"], **numbers,
        )  # fmt: skip
    if told.verdict.review == "upheld":
        counts = told.language.gettext("It was looked at by a person and does not count in the standings.")
    else:
        counts = told.language.gettext("It counts for the challenge {challenge}.", challenge=say(told.verdict.challenge))
    return [first, *(_uncounted_words(told) or [counts])]


def _uncounted_words(told: Told) -> list[str]:
    why = [UNCOUNTED_WORDS[code](told) for code in told.verdict.uncounted]
    if not why:
        return []
    because, *more = why
    for other in more:
        # Clauses after "because", whole ones: the catalogues give each the form that it has there.
        because = told.language.gettext("{clause} and {another}", clause=because, another=other)
    return [told.language.gettext(
        "It is checked like every game but does not count in the standings in any case, because {clause}.", clause=because
    )]  # fmt: skip


def _flagged_words(told: Told) -> list[str]:
    reasons, ngettext = told.verdict.reasons, told.language.ngettext
    if told.verdict.review and not told.verdict.uncounted:
        first = _reviewed_words(told)
    elif told.verdict.uncounted:
        first = ngettext(
            "The game could not be confirmed, for the reason that follows.",
            "The game could not be confirmed, for the {count} reasons that follow.", len(reasons),
        )  # fmt: skip
    else:
        first = ngettext(
            "The game is held back and does not count unless a review clears it, for the reason that follows.",
            "The game is held back and does not count unless a review clears it, for the {count} reasons that follow.",
            len(reasons),
        )
    out = [first, *_uncounted_words(told)]
    codes = {reason.code for reason in reasons}
    if told.verdict.replayed and not codes & {*NUMBER_CLAIMS.values(), "board_mismatch", "illegal_move"}:
        out.append(told.language.gettext(
            "Its moves themselves come out as uploaded: score, best combo and final board are right."
        ))  # fmt: skip
    return out


def _reviewed_words(told: Told) -> str:
    """Of a game with reasons against it that a person has decided about."""
    ngettext, count = told.language.ngettext, len(told.verdict.reasons)
    if told.verdict.review == "cleared":
        return ngettext(
            "The game was looked at and cleared: it counts as it was uploaded, in spite of the reason that follows.",
            "The game was looked at and cleared: it counts as it was uploaded, in spite of the {count} reasons that follow.",
            count,
        )
    return ngettext(
        "The game was looked at and does not count, for the reason that follows.",
        "The game was looked at and does not count, for the {count} reasons that follow.", count,
    )  # fmt: skip


# The modes of the block puzzle as its published rules call them; other games' modes are shown as they are written.
MODE_NAMES = {"daily": N_("daily"), "training": N_("training"), "arena": N_("arena")}


def _mode_words(told: Told) -> str:
    if not told.verdict.mode:
        return told.language.gettext("it was not played in the challenge's own mode")
    named = MODE_NAMES.get(told.verdict.mode) if told.verdict.game == "blocks" else None
    mode = told.say(told.verdict.mode) if named is None else told.language.gettext(named)
    return told.language.gettext("it is a {mode} game and not one of the challenge's own mode", mode=mode)


UNCOUNTED_WORDS: dict[str, Callable[[Told], str]] = {
    "mode": _mode_words,
    "rules": lambda told: told.language.gettext(
        "it was played under rules {rules}, which are not the challenge's own", rules=told.say(told.verdict.rules)
    ),
    "undated": lambda told: told.language.gettext(
        "its challenge, {challenge}, is not that of a day", challenge=told.say(told.verdict.challenge)
    ),
}


def _copy_words(told: Told) -> list[str]:
    if not told.verdict.copy_of:
        return [told.language.gettext(
            "This is the same game uploaded again: an earlier upload came first and stands for both. Nothing is wrong with that, "
            "it is only not counted twice."
        )]  # fmt: skip
    return [told.language.gettext(
        "This is the same game uploaded again: {game} came first and stands for both. Nothing is wrong with that, it is only not "
        "counted twice.", game=told.say(told.verdict.copy_of),
    )]  # fmt: skip


def _withheld_words(told: Told) -> list[str]:
    """Of a game whose app version is under suspicion, not the player."""
    if told.verdict.review:
        return [_reviewed_words(told)]
    if told.record is None:
        return [told.language.gettext(
            "The game is held back while we check the version of the app, because unusually many games of it did not come out as "
            "they were uploaded. That is more likely a fault of the app or of the rules than of the player, whose standing stays "
            "as it was."
        )]  # fmt: skip
    return [told.language.gettext(
        "The game is held back while we check the app version {version} ({platform}), because unusually many games of it did not "
        "come out as they were uploaded. That is more likely a fault of the app or of the rules than of the player, whose "
        "standing stays as it was.", version=told.say(told.record.app_version), platform=told.say(told.record.platform),
    )]  # fmt: skip


VERDICT_WORDS: dict[str, Callable[[Told], list[str]]] = {
    "verified": _verified_words,
    "flagged": _flagged_words,
    "copy": _copy_words,
    "withheld": _withheld_words,
    "quarantined": lambda told: [
        told.language.gettext("The game could not be judged and is set aside; nothing is held against the player.")
    ],
}


# --- Evidence and suspicions ---------------------------------------------------------------------------------------------


def _evidence_words(key: str, value: Any, told: Told) -> list[str]:
    gettext = told.language.gettext
    if key == "rules_that_agree":
        return [gettext(
            "Under rules {versions} the same moves give exactly what was uploaded, so the app may have named the wrong version; "
            "the game is judged by the rules that it names, {rules}.", versions=told.language.either(map(told.say, value)),
            rules=told.say(told.verdict.rules),
        )]  # fmt: skip
    if key == "missing_moves":
        return [gettext("The missing move can be {moves}.", moves=told.language.either(map(told.say, value)))]
    # What a suspicion rests on is told with it; a note that nobody has words for stays in English.
    if key in EVIDENT or not told.language.is_english:
        return []
    return [f"Noted beside it, {told.say(key).replace('_', ' ')}: {told.say(value)}."]


def _copied_words(told: Told) -> list[str]:
    gettext, known = told.language.gettext, (told.verdict.evidence or {}).get("copied_log") or {}
    shown = {name: told.say(known[name]) for name in ("first_game", "players") if name in known}
    if set(shown) == {"first_game", "players"}:
        # Always two players or more.
        first = gettext(
            "Another player uploaded the same long list of moves earlier, as game {first_game}; {players} players have uploaded "
            "it by now.", **shown,
        )  # fmt: skip
    elif "first_game" in shown:
        first = gettext("Another player uploaded the same long list of moves earlier, as game {first_game}.", **shown)
    elif "players" in shown:
        first = gettext(
            "Another player uploaded the same long list of moves earlier; {players} players have uploaded it by now.", **shown
        )
    else:
        first = gettext("Another player uploaded the same long list of moves earlier.")
    return [" ".join([first, *(_fill(detail, told) for detail in copied_details(known)), gettext(ALONE)])]


def _fill(template: tuple[str, dict[str, int]], told: Told) -> str:
    message, numbers = template
    return told.language.gettext(message, **numbers)


def _hint(template: tuple[str, dict[str, int]], told: Told) -> list[str]:
    return [f"{_fill(template, told)} {told.language.gettext(ALONE)}"]


def _numbers(code: str, told: Told) -> dict[str, Any]:
    """The evidence of a suspicion; an old verdict file has none."""
    return (told.verdict.evidence or {}).get(code) or {}


def _pace_words(told: Told) -> list[str]:
    timed = fast_choices(_numbers("superhuman_pace", told))
    if timed is not None:
        return _hint(timed, told)
    moves, ngettext = told.verdict.claimed["moves"], told.language.ngettext
    if told.record is None:
        return [ngettext(
            "The {count} move were played faster than people usually play. That alone stops no game from counting.",
            "The {count} moves were played faster than people usually play. That alone stops no game from counting.", moves,
        )]  # fmt: skip
    seconds = told.language.decimal(f"{(told.record.finished_at - told.record.started_at) / 1_000_000:,.1f}")
    return [ngettext(
        "{count} move in {seconds} seconds are faster than people usually play. That alone stops no game from counting.",
        "{count} moves in {seconds} seconds are faster than people usually play. That alone stops no game from counting.", moves,
        seconds=seconds,
    )]  # fmt: skip


def _unfinished_words(told: Told) -> list[str]:
    kind = kind_of(told.verdict.game) if told.verdict.game in NAMES else GameKind
    return [told.language.gettext(kind.unfinished_words)]


SUSPICION_WORDS: dict[str, Callable[[Told], list[str]]] = {
    "copied_log": _copied_words,
    "superhuman_pace": _pace_words,
    "machine_timing": lambda told: _hint(even_times(_numbers("machine_timing", told)), told),
    "clock_ratio": lambda told: _hint(odd_clock(_numbers("clock_ratio", told)), told),
    "unfinished": _unfinished_words,
}

__all__ = [
    "FAULT_WORDS", "IMPOSSIBLE_WORDS", "MODE_NAMES", "REASON_WORDS", "SHOWN_CELLS", "SHOWN_TEXT", "SUSPICION_WORDS",
    "UNCOUNTED_WORDS", "VERDICT_WORDS", "fault_words", "visible", "words",
]  # fmt: skip
