"""The error tree.  Every message is one sentence: what, where (with the offending value), what to do.

::

    ReplayError
    ├── UsageError            the call cannot be carried out as given            exit 2
    │   ├── InputError        a file or folder that cannot be read               exit 2
    │   │   ├── DamagedInput  a landed file whose bytes are not what its kind has: quarantined by a night   exit 2
    │   │   ├── ChangedInput  an object of a store that was changed or removed while it was read   exit 2
    │   │   └── UnreachableSource  where logs come from cannot be reached at all, whatever the day   exit 2
    │   ├── ReferenceDataError  a rules file, challenge table or seed is wrong   exit 2
    │   └── DecidedMeanwhile  somebody else decided about the game after it was looked at   exit 1
    ├── MalformedRecord       one record that cannot be taken: quarantined, never raised out of a night
    └── NightError            a night that must not publish                      exit 1
        ├── NothingReceived   the day received no records
        ├── DayWouldBeEmptied  a published day would lose all its games
        ├── CountsDoNotAddUp  records in and rows out differ
        ├── CheckFailed       a check in sql/checks returned rows
        ├── EngineDisagreement  the compiled and the interpreted engine differ about a game
        ├── NothingVerified   a published day would lose all its verified games
        ├── PlantedMissed     a forgery that was planted was not caught, or its original not verified
        └── NightRunning      another night holds the lake
"""

from __future__ import annotations

from typing import Any


class ReplayError(Exception):
    """Base of all errors that the product raises on purpose; ``exit_code`` is what the command line returns."""

    exit_code = 1


class UsageError(ReplayError):
    """The call cannot be carried out as given."""

    exit_code = 2


class InputError(UsageError):
    """A file or folder that cannot be read."""


class DamagedInput(InputError):
    """A landed file whose bytes are not what its kind has; a night puts it aside and goes on."""


class ChangedInput(InputError):
    """An object of a store that was changed or removed while it was read."""


class UnreachableSource(InputError):
    """Where logs come from cannot be reached at all, whatever the day: a scheduler tries again later."""


class ReferenceDataError(UsageError):
    """A rules file, a challenge table or another reference table that cannot be used."""


class DecidedMeanwhile(UsageError):
    """Somebody else decided about a game after the person looked at it; the message says who, what and when."""

    exit_code = 1


class MalformedRecord(ReplayError):
    """One record that cannot be taken; it is quarantined with ``code`` and the message as its reason.

    ``code`` is a short name for counting: ``json``, ``encoding``, ``duplicate_key``, ``missing_field``, ``wrong_type``,
    ``wrong_value``, ``too_large``, ``challenge``, ``stream``.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class NightError(ReplayError):
    """A night that must not publish."""


class NothingReceived(NightError):
    """The day received no records."""


class DayWouldBeEmptied(NightError):
    """A published day would lose all its games."""


class CountsDoNotAddUp(NightError):
    """Records in and rows out differ."""


class CheckFailed(NightError):
    """A check in sql/checks returned rows."""


class EngineDisagreement(NightError):
    """The compiled and the interpreted engine differ about a game: our own bug, nobody is accused because of it.

    ``game`` is what somebody needs to look into it: the record, both results and ``code``; as JSON.
    """

    code = "engine_disagreement"

    def __init__(self, message: str, game: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.game = game


class NothingVerified(NightError):
    """A day that was published with verified games has only flagged ones now: no day of cheats, something is broken."""


class PlantedMissed(NightError):
    """A forgery that was planted to prove the night was not caught as it should be, or its honest original was not verified."""


class NightRunning(NightError):
    """Another night holds the lake."""


def first_line(error: Exception) -> str:
    """What a library's error says, without the lines that follow: our errors are one sentence.

    Bytes of a broken file may stand in it: what cannot be printed is written as an escape.
    """
    text = str(error).partition("\n")[0]
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
