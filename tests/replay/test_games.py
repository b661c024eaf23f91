"""The registry of games: what each one offers, which engine it imports, and the challenge table of all of them."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from replay.challenges import COLUMNS, load_challenges
from replay.errors import ReferenceDataError
from replay.games import NAMES, kind_of
from replay.record import GAMES, OPTIONAL_FIELDS, count_tokens
from replay.rulebook import BUILT_IN, load_rulebook
from replay.verdict import NUMBER_CLAIMS

RULEBOOK = load_rulebook()
# A rules version, a mode, a log of two tokens and the canonical board that a loose text means.
SAMPLES = {
    "blocks": ("1.2.0", "daily", "1a1 2e5", ("008/#07", "#7")),
    "tetromino": ("1.0.0", "sprint", "3l h", ("10/T09", "T9")),
    "tetcolor": ("1.0.0", "duo/arcade/normal", "3l h", ("10/c03bM*05", "c3bM*5")),
}


def test_every_game_with_an_engine_is_a_game_of_the_record():
    assert set(NAMES) == set(SAMPLES)
    assert list(NAMES) == [game for game in GAMES if game in NAMES]
    with pytest.raises(KeyError):
        kind_of("chess")


@pytest.mark.parametrize("game", NAMES)
def test_what_a_game_offers_fits_together(game):
    version, mode, log, (loose, board) = SAMPLES[game]
    kind, rules = kind_of(game), RULEBOOK.find(game, version)
    assert (kind.name, kind is kind_of(game)) == (game, True)
    assert rules.version == version in RULEBOOK.versions(game)
    assert rules.has_mode(mode) and kind.plays(rules, mode)
    # A mode that does not exist is malformed or, where that is a fault of the game, none that is played.
    assert not kind.plays(rules, "nonsense")
    assert rules.has_mode("nonsense") == (game == "tetcolor")
    assert any(name.startswith(mode) for name in rules.mode_names)
    assert rules.mode_names[0] in kind.mode_words(rules)
    deal = kind.deal(rules, mode, 7, "", "")
    assert kind.canonical_board(loose, rules, mode) == board
    assert kind.differing_cells("?", board, rules, mode) is None
    assert kind.differing_cells(loose, board, rules, mode) == []
    cell = kind.differing_cells("-", board, rules, mode)[0]
    assert (cell.claimed, cell.replayed, cell.name) == (".", board[0], kind.cell_name(cell.row, cell.column, rules, mode))
    # Claims, bounds and the running numbers speak of the same things.
    claims = ["score", "best_combo", *OPTIONAL_FIELDS.get(game, ())]
    assert set(claims) <= set(NUMBER_CLAIMS)
    play = kind.play_through(rules, deal, log.encode(), mode)
    assert list(kind.bounds(rules, deal, log.encode(), mode)) == list(play.running) == list(play.reach) == claims
    assert play.outcome.moves == count_tokens(game, log) == 2
    assert all(getattr(play.outcome, name) is not None for name in claims)
    assert [kind.token_at(log.encode(), i) for i in range(3)] == [*log.split(), None]
    # Every cell that is drawn has a look, of two characters, and boards and names have the same size.
    game_ = kind.new_game(rules, deal, log.encode(), mode)
    rows = [kind.start_row(game_), *kind.rows(game_, 1, None)]
    for row in rows:
        assert set("".join(row.grid)) <= set(kind.look.cells)
        assert len(kind.row_names(len(row.grid), rules, mode)) == len(row.grid)
        assert {len(line) for line in row.grid} == {len(kind.column_names(rules, mode))}
        assert len(row.cells) == len(kind.look.columns)
        assert [name for name, _ in row.values] == [name for name, _ in rows[0].values]
        assert [panel.key for panel in row.panels] == [panel.key for panel in rows[0].panels]
        for name in {name for panel in row.panels for _, name in panel.items if name}:
            assert set("".join(kind.drawing(name, rules))) <= set(kind.look.cells)
    for cell in kind.look.cells.values():
        assert len(cell.glyph) == len(cell.ascii) == kind.look.width
        assert cell.ascii.isascii()
    # Nothing but colour would tell cells apart if two of them had the same sign and characters.
    assert len({cell.glyph for cell in kind.look.cells.values()}) == len(kind.look.cells)
    assert len({cell.ascii for cell in kind.look.cells.values()}) == len(kind.look.cells)


@pytest.mark.parametrize("game", NAMES)
def test_a_game_imports_its_own_engine_only(game):
    others = [f"engine.{other}" for other in NAMES if other != game]
    code = (
        f"import sys; from replay.games import kind_of; import replay.dispute; kind_of({game!r})\n"
        f"bad = [m for m in sys.modules if m.split('.')[0] in ('numba', 'numpy', 'pyarrow') or m in {others}]\n"
        f"sys.exit(', '.join(bad) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_look_at_one_game_reads_no_other_games_rules():
    """`replay game` of a block puzzle opens without the other engines, though the tables hold their challenges."""
    code = (
        "import sys; from replay.challenges import load_challenges; from replay.rulebook import load_rulebook\n"
        "table = load_challenges(None, rulebook := load_rulebook(lazy=True), lazy=True)\n"
        "assert table.find('blocks', '2026-10-31').deal(rulebook.find('blocks', '1.2.0'))\n"
        "assert rulebook.versions('tetromino') and rulebook.hashes\n"
        "sys.exit(', '.join(m for m in sys.modules if m.startswith('engine.tetromino')) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("lazy", [False, True])
def test_a_broken_rules_file_is_refused_when_it_is_read(tmp_path, lazy):
    for game in NAMES:
        shutil.copytree(BUILT_IN / game, tmp_path / game, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    (tmp_path / "tetromino" / "1.0.0.toml").write_text('game = "tetromino"\nversion = "1.0.0"\n')
    with pytest.raises(ReferenceDataError, match=r"1\.0\.0\.toml.*missing"):
        load_rulebook(tmp_path, lazy).find("tetromino", "1.0.0")
    if lazy:
        assert load_rulebook(tmp_path, lazy).find("blocks", "1.2.0") == RULEBOOK.find("blocks", "1.2.0")


def test_a_challenge_of_a_lazy_table_is_checked_when_it_is_found(tmp_path):
    path = tmp_path / "challenges.csv"
    path.write_text("\n".join([",".join(COLUMNS), "tetromino,a,daily,1.0.0,1,,", "tetromino,b,sprint,1.0.0,1,,"]), "utf-8")
    table = load_challenges(path, RULEBOOK, lazy=True)
    assert table.find("tetromino", "b").mode == "sprint"
    with pytest.raises(ReferenceDataError, match=r"line 2: mode 'daily'"):
        table.find("tetromino", "a")
    assert table.find("tetromino", "nothing") is None


def refused(tmp_path, row):
    path = tmp_path / "challenges.csv"
    path.write_text("\n".join([",".join(COLUMNS), "blocks,a,daily,1.2.0,1,,", "", row]) + "\n", "utf-8")
    with pytest.raises(ReferenceDataError) as problem:
        load_challenges(path, RULEBOOK)
    return str(problem.value)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("blocks,b,sprint,1.2.0,1,,", "mode 'sprint' is not one of rules 1.2.0: daily, training, arena"),
        ("blocks,b,daily,1.2.0,1,,O Nix", "piece 'Nix' is not in the catalogue of rules 1.2.0"),
        ("blocks,b,daily,1.2.0,1,T7,", "row 1 holds 'T', which is no cell of this game"),
        ("blocks,b,daily,1.2.0,1,########,", "start board '########' has a full row or column"),
        ("tetromino,b,daily,1.0.0,1,,", "mode 'daily' is not one of rules 1.0.0: beginner, marathon/1 to marathon/20, sprint"),
        ("tetromino,b,marathon/21,1.0.0,1,,", "mode 'marathon/21' is not one of rules 1.0.0"),
        ("tetromino,b,sprint,1.0.0,1,,T O Q", "piece 'Q' is none of I, J, L, O, S, T, Z"),
        ("tetromino,b,sprint,1.0.0,1,#9,", "row 1 holds '#', which is no cell of this game"),
        ("tetromino,b,sprint,1.0.0,1,TTTTTTTTTT,", "start board 'TTTTTTTTTT' has a full row"),
        ("tetromino,b,sprint,1.0.0,1,T8,", "row 1 ('T8') is not 10 cells wide"),
        (
            "tetcolor,b,columns/arcade/crazy,1.0.0,1,,",
            "mode 'columns/arcade/crazy' is not one of rules 1.0.0: family/variant/style",
        ),
        ("tetcolor,b,duo/arcade/normal,1.0.0,1,,C:abc", "piece 'C:abc': duo has no shape C of 3 cells"),
        ("tetcolor,b,duo/arcade/normal,1.0.0,1,aaa7,", "start board 'aaa7' has 3 or more blocks of one colour in a line"),
        ("chess,b,sprint,1.0.0,1,,", "game 'chess' is none of blocks, tetromino, tetcolor"),
    ],
)
def test_a_challenge_that_does_not_fit_its_rules_is_refused_with_its_line(tmp_path, row, why):
    told = refused(tmp_path, row)
    assert "challenges.csv: line 4: " in told
    assert why in told


def test_challenges_of_unknown_rules_are_left_to_the_games(tmp_path):
    path = tmp_path / "challenges.csv"
    path.write_text(
        "\n".join(
            [",".join(COLUMNS), "tetcolor,b,duo,9.0.0,1,,", "tetromino,b,sprint,9.0.0,1,,Q", "tetromino,c,sprint,1.0.0,,,T"]
        ),
        "utf-8",
    )
    table = load_challenges(path, RULEBOOK)
    assert [row.challenge for row in table.rows.values()] == ["b", "b", "c"]
    assert table.find("tetromino", "c").rng_seed == 0


def test_a_deal_is_that_of_the_mode_that_is_played():
    row = load_challenges(None, RULEBOOK).find("blocks", "2026-10-31")
    rules = RULEBOOK.find("blocks", row.rules)
    assert row.deal(rules) == row.deal(rules, row.mode) == row.deal(rules, "training")
