"""Flags that are held back, told to those who run the nights: first in every report, and never as an accusation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from replay.reviews.words import time_words
from replay.words import visible

# Incidents that are told one by one, those with the most flags first.
TOLD = 20


def group_words(incident: Mapping[str, Any]) -> str:
    """The app version, as people name it; it was uploaded, and may hold anything."""
    shown = {name: visible(str(incident[name])) for name in ("game", "platform", "app_version", "rules")}
    return "{game}, {platform} {app_version}, rules {rules}".format(**shown)


def held_now(incidents: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those that nobody has released; a report of an earlier version of this program did not say of any."""
    return [incident for incident in incidents if incident.get("release") is None]


def released_words(incidents: Sequence[Mapping[str, Any]]) -> str | None:
    """How many flags that were held back stand as flags, as people released them; None where none do."""
    released = [incident for incident in incidents if incident.get("release") is not None]
    if not released:
        return None
    one = sum(incident["held"] for incident in released) == 1
    stand = "was held back and stands as a flag" if one else "were held back and stand as flags"
    return f"Released: {held_words(released)} {stand}."


def lapsed_words(release: Mapping[str, Any]) -> str:
    """That a group was released (``Release.as_json``) when it held back other flags, in a sentence."""
    when = time_words(datetime.fromisoformat(release["at"]))
    return (
        f"It was released by {visible(release['reviewer'])} at {when} (release {release['id']}), when other flags were held back,"
        " and must be looked at again"
    )


def held_words(incidents: Sequence[Mapping[str, Any]]) -> str:
    """How many flags of how many app versions are held back; there must be some."""
    held, apps = sum(incident["held"] for incident in incidents), len(incidents)
    return f"{held:,} flag{'' if held == 1 else 's'} of {apps:,} app version{'' if apps == 1 else 's'}"


def headline(incidents: Sequence[Mapping[str, Any]]) -> str:
    """What was held back, in one line; there must be some."""
    looks = "that looks broken" if len(incidents) == 1 else "that look broken"
    return f"Held back: {held_words(incidents)} {looks}; nobody is accused of them unless `replay release` says so."


def told(incidents: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each incident, those whose release stands no longer and then those with the most flags first, TOLD at most, and
    how many more there are."""
    largest = sorted(incidents, key=lambda found: (not found.get("lapsed"), -found["held"], group_words(found)))
    lines = [incident_words(incident) for incident in largest[:TOLD]]
    left = len(largest) - TOLD
    return lines + ([f"and {left:,} more, all in run.json"] if left > 0 else [])


def incident_words(incident: Mapping[str, Any]) -> str:
    """One incident in some sentences, on one line."""
    sentences = [
        f"{group_words(incident)}: {incident['flags']:,} of {incident['games']:,} games do not come out; {_usual(incident)}",
        f"The chance of an honest day like that is {incident['chance']}",
        f"Held back since {incident['since']}",
    ]
    for rules, games in sorted(incident["rules_that_agree"].items(), key=lambda item: (-item[1], item[0])):
        sentences.append(f"Under rules {visible(rules)} {games:,} of them come out as they were uploaded")
    if incident["counted_before"]:
        sentences.append(f"{incident['counted_before']:,} of them counted before and count on unless they are released")
    if incident.get("lapsed"):
        sentences.append(lapsed_words(incident["lapsed"]))
    return ". ".join(sentences) + "."


def _usual(incident: Mapping[str, Any]) -> str:
    if incident["past_of"] == "prior":
        return "no nights before say what is usual"
    whose = {
        "own": "", "platform": " of this game's other apps on that platform, as this one has no past of its own",
        "game": " of all other apps of this game, as this one has no past of its own",
    }[incident["past_of"]]  # fmt: skip
    return f"usual is {incident['past_flags']:,} of {incident['past_games']:,}{whose}"
