"""Who is looking: every page asks before it answers, and deciding is a right of its own."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import HTTPException, Request


@dataclass(frozen=True)
class Person:
    """Somebody who may read the pages.  ``name`` is what a decision records; empty where nobody has said who they are."""

    name: str
    may_decide: bool


def reader(request: Request) -> Person:
    """The person of a request, as the app's own dependency found them (``replay.dashboard.app``); 401 when it found none."""
    person = getattr(request.state, "person", None)
    if not isinstance(person, Person):
        raise HTTPException(401, "log in first")
    return person


def decider(request: Request) -> Person:
    """The person of a request who may decide; 403 for one who may only read."""
    person = reader(request)
    if not person.may_decide:
        raise HTTPException(403, "you may read these pages, but not decide")
    return person
