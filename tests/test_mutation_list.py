"""The list of deliberate defects: each can be planted, is explained, and they are spread over what must not go wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.mutation.__main__ import options
from tests.mutation.defects import AREAS, Defect, load_defects, plant
from tests.mutation.report import failures_of, noticed, table

ROOT = Path(__file__).parents[1]
DEFECTS = load_defects()


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_defect_can_be_planted(defect):
    text = (ROOT / defect.file).read_text("utf-8")
    assert text.count(defect.old) == 1, f"{defect.file}: the text of {defect.name} stands {text.count(defect.old)} times, not once"
    assert defect.old != defect.new
    if defect.file.endswith(".py"):
        # No syntax error: those are noticed by everybody.
        compile(text.replace(defect.old, defect.new), defect.file, "exec")
    missing = [test for test in (*defect.tests, *AREAS[defect.area]) if not (ROOT / test).is_file()]
    assert missing == [], f"{defect.name} names tests that are not there"
    assert defect.tests, defect.name


def test_names_and_sentences():
    assert len(DEFECTS) >= 60
    assert [name for name, count in Counter(d.name for d in DEFECTS).items() if count > 1] == []
    changes = Counter((d.file, d.old, d.new) for d in DEFECTS)
    assert [change for change, count in changes.items() if count > 1] == []
    for defect in DEFECTS:
        assert len(defect.harm.split()) >= 6, defect.name
        assert defect.harm.endswith("."), defect.name


def test_defects_are_spread():
    by_area = Counter(defect.area for defect in DEFECTS)
    assert set(by_area) == set(AREAS)
    assert all(count >= 3 for count in by_area.values()), by_area
    files = {defect.file for defect in DEFECTS}
    for folder in ("engine/blocks/", "engine/tetromino/", "engine/tetcolor/", "replay/sql/", "replay/reviews/"):
        assert any(file.startswith(folder) for file in files), folder
    assert {"replay/verdict.py", "replay/verify.py", "replay/relations.py", "replay/publish.py", "replay/record.py"} <= files


def test_a_defect_is_planted_once_or_not_at_all(tmp_path):
    defect = Defect("name", "marts", "a.py", "x < 3", "x <= 3", "Three would be too many for somebody.", ())
    (tmp_path / "a.py").write_text("if x < 3:\n    y = 'é'\n", "utf-8")
    plant(defect, tmp_path)
    assert (tmp_path / "a.py").read_text("utf-8") == "if x <= 3:\n    y = 'é'\n"
    with pytest.raises(ValueError, match=r"stands 0 times in a\.py"):
        plant(defect, tmp_path)
    (tmp_path / "a.py").write_text("x < 3 or x < 3\n", "utf-8")
    with pytest.raises(ValueError, match="stands 2 times"):
        plant(defect, tmp_path)


def test_table_tells_who_noticed_and_who_survived():
    def stage(by=None, note=""):
        return {"by": by, "seconds": 2.0, "note": note}

    results = {
        "one": {"file": "f", "both_engines": True, "engines": stage(), "planted": stage("PlantedMissed"), "tests": stage()},
        "two": {"file": "f", "both_engines": False, "engines": stage("CheckFailed"), "tests": stage("tests/test_a.py::test_b")},
        "three": {"file": "f", "both_engines": False, "engines": stage(note="4 wrong verdicts were published"), "tests": stage()},
        "four": {"file": "f", "both_engines": False, "engines": stage("EngineDisagreement"), "planted": stage("EngineDisagreement")},
    }
    assert {name: set(noticed(result)) for name, result in results.items()} == {
        "one": {"planted"}, "two": {"night", "tests"}, "three": set(), "four": {"engines"},
    }  # fmt: skip
    assert failures_of(results) == ["three"]
    lines = table(results).splitlines()
    assert lines[1].split() == ["one", "f", "alike", "yes", "-", "-", "6"]
    assert lines[2].split() == ["two", "f", "-", "not", "run", "CheckFailed", "a.py::test_b", "4"]
    assert lines[6] == "4 defects, 3 noticed (engines 1, planted 1, night 1, tests 1)"
    assert lines[7] == "survived: three: 4 wrong verdicts were published"


def test_a_wrong_name_is_refused(capsys):
    with pytest.raises(SystemExit):
        options(["--only", "no-such-defect"])
    assert "'no-such-defect' is no name or area" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        options(["--stages", "engines,luck"])
    assert "'luck' is none of engines, planted, tests" in capsys.readouterr().err
    assert options(["--only", "marts", "--stages", "tests"]).stages == ["tests"]
