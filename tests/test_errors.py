"""The error tree: the docstring of replay/errors.py names every class, its parent and its exit code, and nothing more."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from pathlib import Path

import pytest

from replay import errors
from replay.errors import MalformedRecord, ReplayError

CLASSES = {
    name: value for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, BaseException)
}  # fmt: skip
ROOT = Path(__file__).parents[1]


def drawn() -> list[tuple[int, str, str]]:
    """(depth, class, the words behind it) for every line of the drawn tree."""
    lines = inspect.getdoc(errors).splitlines()
    start = next(i for i, text in enumerate(lines) if text.strip() == "ReplayError")
    found = []
    for text in textwrap.dedent("\n".join(lines[start:])).splitlines():
        match = re.fullmatch(r"([\s│├└─]*)(\w+)(.*)", text)
        assert match, text
        found.append((len(match[1]) // 4, match[2], match[3].strip()))
    return found


def test_the_tree_names_every_class_once_and_nothing_more():
    names = [name for _, name, _ in drawn()]
    assert sorted(names) == sorted(CLASSES)


def test_the_tree_shows_the_real_parents():
    stack: list[str] = []
    for depth, name, _ in drawn():
        assert depth <= len(stack), name
        del stack[depth:]
        parents = [parent.__name__ for parent in CLASSES[name].__bases__]
        assert parents == ([stack[-1]] if stack else ["Exception"]), name
        stack.append(name)


def test_exit_codes_stand_in_the_tree():
    code = {"ReplayError": None}
    for depth, name, words in drawn():
        assert depth == 0 or words, name
        match = re.search(r"exit (\d)$", words)
        inherited = code.get(CLASSES[name].__bases__[0].__name__)
        code[name] = int(match[1]) if match else inherited
        if code[name] is not None:
            assert CLASSES[name].exit_code == code[name], name
    assert code["UsageError"] == 2
    assert code["NightError"] == 1
    assert {found.exit_code for found in CLASSES.values()} == {1, 2}


def test_a_malformed_record_carries_a_documented_code():
    assert MalformedRecord("json", "not JSON").code == "json"
    named = set(re.findall(r"``(\w+)``", MalformedRecord.__doc__)) - {"code"}
    raised = set()
    for path in (ROOT / "replay").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("MalformedRecord", "Quarantined"):
                raised |= {arg.value for arg in node.args if isinstance(arg, ast.Constant) and arg.value in named | {None}}
                first = node.args[0 if node.func.id == "MalformedRecord" else 1]
                assert not isinstance(first, ast.Constant) or first.value in named, f"{path.name}: {first.value}"
    assert named - raised <= {"challenge", "stream"}, "codes that are put in by variable only"


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_every_class_is_raised_somewhere_and_has_a_docstring(name):
    assert CLASSES[name].__doc__.strip().endswith(".") or "``" in CLASSES[name].__doc__
    if name in ("ReplayError", "NightError", "UsageError"):
        return
    used = [path for path in (ROOT / "replay").rglob("*.py") if f"raise {name}(" in path.read_text("utf-8")]
    assert used, f"{name} is never raised"


def test_messages_are_one_sentence():
    """No raise of ours ends in a full stop or breaks the line: the command line prints it after the program's name."""
    for path in sorted((ROOT / "replay").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)):
                continue
            name = getattr(node.exc.func, "id", "")
            if name not in CLASSES or not issubclass(CLASSES[name], ReplayError) or not node.exc.args:
                continue
            text = "".join(
                part.value for part in ast.walk(node.exc) if isinstance(part, ast.Constant) and isinstance(part.value, str)
            )
            where = f"{path.name}:{node.lineno}"
            assert "\n" not in text.replace("\\n", ""), where
            assert not text.rstrip().endswith("."), where
