"""Worked examples of document 000 and field cases A1, A2, A4, A5, A6, A7, A11 and B1, each beside its nearest wrong readings.

The games stand in golden/tetromino/*.txt.  A wrong reading is the slow twin with one rule changed: if it yields what a golden
game says, that game does not tell the readings apart and is no test of the rule.
"""

from __future__ import annotations

import tomllib
from itertools import islice

import pytest

from engine.outcome import BOARD_DIFFERS, BOARD_EQUAL
from tests.engine.golden_tetromino import Golden, all_golden
from tests.engine.tetromino_readings import READINGS
from tests.engine.tetromino_support import RULES_FOLDER, Case, batch_rows, by_twin, check_everywhere, opened, replay_batch, rules
from tests.reference import tetromino as twin

GOLDEN = {game.id: game for game in all_golden()}


@pytest.mark.parametrize("game", GOLDEN.values(), ids=list(GOLDEN))
def test_golden_games(game: Golden) -> None:
    """Among them the field cases A1, A2, A4, A5, A6, A7, A11 and B5, by the names of the games."""
    check_everywhere(game.case, game.expected, game.id)


def test_golden_games_in_one_batch() -> None:
    """The same games side by side, forwards and backwards (B2); the claimed board is the right one."""
    games = list(GOLDEN.values())
    for order in (games, games[::-1]):
        out = replay_batch(rules(), [game.case for game in order])
        wrong = [(game.id, got) for game, got in zip(order, batch_rows(out), strict=True) if got != game.expected]
        assert wrong == []
        assert set(out.board.tolist()) == {BOARD_EQUAL}


@pytest.mark.parametrize("case", ["A1", "A2", "A4", "A5", "A6", "A7", "A11", "B1", "B5"])
def test_each_field_case_has_its_games(case: str) -> None:
    assert sum(name.split("-")[0] == case for name in GOLDEN) >= 2


def test_a_cell_of_another_piece_is_another_board() -> None:
    """Boards are compared by the pieces of their cells, hidden rows too."""
    right = b"4SS4/3SS5/4T5/3TTT4/3IIII3"
    hidden = b"I9/I9/I9/I9/" + b"/".join([b"J9"] * 18)
    cases = [
        (Case(b"xchchh", "marathon/1", 0, "TIOSZJ", "-", right), BOARD_EQUAL),
        (Case(b"xchchh", "marathon/1", 0, "TIOSZJ", "-", b"10/" + right), BOARD_EQUAL),
        (Case(b"xchchh", "marathon/1", 0, "TIOSZJ", "-", right.replace(b"T", b"L")), BOARD_DIFFERS),
        (Case(b"xlllllh", "marathon/1", 0, "IO", "/".join(["J9"] * 18), hidden), BOARD_EQUAL),
        (Case(b"xlllllh", "marathon/1", 0, "IO", "/".join(["J9"] * 18), b"J" + hidden[1:]), BOARD_DIFFERS),
        (Case(b"xlllllh", "marathon/1", 0, "IO", "/".join(["J9"] * 18), hidden[3:]), BOARD_DIFFERS),
    ]
    out = replay_batch(rules(), [case for case, _ in cases])
    assert out.board.tolist() == [verdict for _, verdict in cases]
    for case, verdict in cases:
        game = opened(rules(), case)
        game.run()
        assert game.board_equals(case.claim.decode()) == verdict, case


BAGS = {
    0: "JTSOILZ ILTOZSJ",
    4294967296: "LISZOJT TOJLZIS",
    9007199254740992: "OJZSLIT OSTIJZL",
    9007199254740993: "TZOLJSI ZLSOTJI",
    9223372036854775808: "OLITZSJ TISJZLO",
    18446744073709551615: "IOLSJTZ LTSIOJZ",
}


@pytest.mark.parametrize("seed", BAGS)
def test_B1_bags(seed: int) -> None:
    """The first two bags of seeds at the edges of 32, 53 and 63 bits, as the twin deals and as the engine plays them."""
    bags = BAGS[seed].replace(" ", "")
    assert "".join(islice(twin.bags(seed), 14)) == bags
    # Fourteen pieces in columns of their own kind, read off the interpreted engine one by one.
    dealt = ""
    game = opened(rules(), Case(b"llllhhrrrrhllllhhrrrrhllllhhrrrrhllllhhrrrrhllllhh", "zen", seed))
    for _ in range(50):
        before = game.score
        if game.last_token.endswith("h") or not dealt:
            dealt += game.piece or ""
        game.step()
        assert game.score >= before
    assert dealt[:14] == bags


def test_gravity_table() -> None:
    """The rules file holds what the formula gives in exact arithmetic, rounded; beginner's first five halved and rounded down."""
    table = tomllib.loads((RULES_FOLDER / "1.0.0.toml").read_text("utf-8"))["gravity"]
    assert table["normal"] == [twin.gravity(level, False) for level in range(1, 21)]
    assert table["beginner"] == [twin.gravity(level, True) for level in range(1, 21)]
    # One second a row at level 1, and 0.793 ** 1 at level 2: 65536 / 60 and 65536 / 47.58.
    assert table["normal"][:2] == [1092, 1377]


@pytest.mark.parametrize(
    ("reading", "name"),
    [(reading, name) for reading, names in READINGS.items() for name in names],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_a_wrong_reading_gets_it_wrong(reading: type[twin.Game], name: str) -> None:
    game = GOLDEN[name]
    assert by_twin(game.case, reading) != game.expected, f"{name} does not tell {reading.__name__} from the rules"
