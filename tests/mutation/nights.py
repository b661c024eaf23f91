"""The nights of a mutation run, in the tree that they are about: ``python -m tests.mutation.nights land|run|plant LAKE``.

``land`` plays two days and lands their uploads; ``run`` is the nights of those days without planted forgeries, ``plant`` with.
One JSON object comes out: the error that stopped a night, if one did, and how many verdicts that were published are wrong.
"""

from __future__ import annotations

import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

from replay.challenges import load_challenges
from replay.lake import Lake
from replay.night import NightSettings, run_night
from replay.rulebook import load_rulebook
from replay.simulate import simulate
from replay.truth import compare_with_truth

# A Saturday and the Sunday of a digest; late uploads of the first lie among the second's.
DAYS = (date(2026, 10, 31), date(2026, 11, 1))
UPLOADS, OTHERS, FORGED = 240, {"tetromino": 0.35, "tetcolor": 0.35}, 0.25


def land(lake: Path) -> dict[str, Any]:
    """Play and land the days, with the truth beside them."""
    rulebook = load_rulebook()
    challenges = load_challenges(rulebook=rulebook)
    summary = simulate(
        lake, list(DAYS), UPLOADS, challenges=challenges, rulebook=rulebook, rng_seed=7, forged_share=FORGED, others=OTHERS
    )
    return {"records": summary.records}


def run(lake: Path, planting: bool) -> dict[str, Any]:
    """Run the nights; whatever stops one is an answer, so every error is taken."""
    settings: dict[str, Any] = {"threads": 1}
    if "plant" in NightSettings.__dataclass_fields__:
        settings["plant"] = planting
    try:
        for day in DAYS:
            run_night(Lake(lake), day, NightSettings(**settings))
        compared = compare_with_truth(Lake(lake))
    except Exception as error:  # noqa: BLE001
        return {"error": type(error).__name__, "sentence": str(error)}
    return {"error": None, "wrong": compared.wrong, "example": compared.examples[0] if compared.examples else None}


def main() -> None:
    what, lake = sys.argv[1], Path(sys.argv[2])
    found = land(lake) if what == "land" else run(lake, planting=what == "plant")
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
