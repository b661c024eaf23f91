"""Connections to DuckDB are all made in one place, which keeps them from printing and from the machine's time zone."""

from pathlib import Path

from replay.database import connect

ROOT = Path(__file__).parents[2]


def setting(con, name):
    return con.execute(f"select current_setting('{name}')").fetchall()[0][0]


def test_nothing_is_printed_and_time_is_utc(tmp_path):
    """DuckDB draws a progress bar on stdout after two seconds, in the middle of a machine's JSON."""
    for con in (connect(), connect(tmp_path / "a.duckdb", memory_limit="256MB", threads=1, spill=tmp_path / "spill")):
        assert setting(con, "enable_progress_bar") is False
        assert setting(con, "TimeZone") == "UTC"
        assert setting(con, "autoload_known_extensions") is False
        con.close()


def test_nobody_connects_otherwise():
    others = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "replay").rglob("*.py"))
        if "duckdb.connect(" in path.read_text("utf-8") and path.name != "database.py"
    ]
    assert others == []
