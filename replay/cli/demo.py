"""``replay simulate``, ``replay demo`` and ``replay doctor``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replay.cli import common
from replay.errors import UsageError

if TYPE_CHECKING:
    from datetime import date

    from replay.simulate import SimulationSummary


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("demo")(demo)
    app.command("simulate")(simulate)
    app.command("doctor")(doctor)


# How many uploads of the other games come with each of the block puzzle.
TETROMINO, TETCOLOR = 0.15, 0.1

SeedOption = Annotated[int, typer.Option("--seed", help="Random seed of the simulation.")]
ForgedOption = Annotated[float, typer.Option("--forged", help="Share of forgeries, 0 to 0.5.")]
GamesOption = Annotated[int, typer.Option("--games", help="Uploads a day of the block puzzle.", min=1)]
TetrominoOption = Annotated[
    float, typer.Option("--tetromino", help="Uploads of Tetromino Arcade for each of the block puzzle, 0 to 1; they come on top.")
]
TetcolorOption = Annotated[float, typer.Option("--tetcolor", help="The same for Tetcolor: uploads for each of the block puzzle.")]


def simulate(
    lake: common.LakeOption,
    day: Annotated[str, typer.Option("--day", help="First day, YYYY-MM-DD.")],
    days: Annotated[int, typer.Option("--days", help="Number of days.", min=1)] = 1,
    games: GamesOption = 20_000,
    tetromino: TetrominoOption = TETROMINO,
    tetcolor: TetcolorOption = TETCOLOR,
    seed: SeedOption = 1,
    forged: ForgedOption = 0.02,
    challenges: common.ChallengesOption = None,
    rules: common.RulesOption = None,
    as_json: common.JsonOption = False,
) -> None:
    """Play days of games with bots and land their uploads in a lake, some of them forged; the truth is kept aside."""
    from replay.lake import open_lake

    first = common.parse_day(day)
    settings = common.load_settings(challenges=challenges, rules=rules)
    others = {"tetromino": tetromino, "tetcolor": tetcolor}
    with open_lake(lake) as where:
        summary = run_simulation(where.root, common.days_from(first, days), games, others, seed, forged, settings)
        where.put_tree("logs", "truth")
    if as_json:
        kinds = dict(sorted(summary.kinds.items()))
        by_game = {game: dict(sorted(found.items())) for game, found in summary.games.items()}
        common.print_json({
            "records": summary.records, "moves": summary.moves, "players": summary.players, "kinds": kinds, "games": by_game,
        })  # fmt: skip
        return
    names = list(summary.games)
    title = f"{summary.records:,} uploads of {summary.players:,} players"
    out = common.table(title, ("kind", "left"), *((name, "right") for name in names))
    for kind, _ in sorted(summary.kinds.items(), key=lambda item: (-item[1], item[0])):
        out.add_row(kind, *(f"{summary.games[name][kind]:,}" for name in names))
    common.console().print(out)


def run_simulation(
    lake: Path, days: list[date], games: int, others: dict[str, float], seed: int, forged: float, settings: Any
) -> SimulationSummary:  # fmt: skip
    """Simulate with a progress bar on the terminal; ``others`` are the shares of the games beside the block puzzle."""
    from replay.challenges import load_challenges
    from replay.rulebook import load_rulebook
    from replay.simulate import check_shares
    from replay.simulate import simulate as play

    check_shares(forged, others)
    rulebook = load_rulebook(settings.rules)
    table = load_challenges(settings.challenges, rulebook)
    lines = games + sum(round(share * games) for share in others.values())
    with common.progress() as bar:
        task = bar.add_task("bots play", total=lines * len(days))
        return play(
            lake, days, games, challenges=table, rulebook=rulebook, rng_seed=seed, forged_share=forged,
            others=others, progress=lambda count: bar.advance(task, count),
        )  # fmt: skip


def demo(
    lake: Annotated[Path, typer.Option("--lake", help="Folder to make; it must not hold logs yet.")] = Path("demo-lake"),
    day: Annotated[str, typer.Option("--day", help="First day.")] = "2026-10-30",
    days: Annotated[int, typer.Option("--days", help="Number of days.", min=1)] = 3,
    games: GamesOption = 20_000,
    tetromino: TetrominoOption = TETROMINO,
    tetcolor: TetcolorOption = TETCOLOR,
    seed: SeedOption = 1,
    forged: ForgedOption = 0.02,
    fresh: Annotated[bool, typer.Option("--fresh", help="Delete what an earlier demo left in the folder.")] = False,
) -> None:
    """Play three days, verify them night by night, and hold the verdicts against the truth.

    Exit code 1 when a forgery was missed or an honest game accused.
    """
    from replay.cli.night import run_with_progress
    from replay.lake import Lake
    from replay.truth import compare_with_truth

    if ":/" in str(lake):
        raise UsageError(f"--lake {lake}: a demo makes a local folder; for a store use `replay simulate` and `replay nightly`")
    # A demo has its own uploads, whatever the machine's nights bring.
    settings = common.load_settings(source="")
    wanted = common.days_from(common.parse_day(day), days)
    others = {"tetromino": tetromino, "tetcolor": tetcolor}
    _check(wanted, others, forged, settings)
    _make_room(lake, fresh)
    run_simulation(lake, wanted, games, others, seed, forged, settings)
    runs = [run_with_progress(Lake(lake), night, settings.night(), settings.look_back).run for night in wanted]
    out = common.console()
    _show_nights(out, runs)
    from replay.cli.boards import standings

    standings(lake=str(lake), limit=10)
    for game, share in others.items():
        if share:
            standings(lake=str(lake), game=game, limit=5)
    compared = compare_with_truth(Lake(lake))
    _show_truth(out, compared)
    out.print("Where to look next:")
    for line in (
        f"replay flags --lake {lake} --day {wanted[-1]}",
        *(f"replay game {example} --lake {lake} --html game.html" for example in compared.example.values()),
        f"replay standings --lake {lake} --day {wanted[-1]}",
        f"replay standings --lake {lake} --digest",
    ):
        out.print(f"  {line}", soft_wrap=True)
    if compared.wrong:
        raise typer.Exit(1)


def _check(days: list[date], others: dict[str, float], forged: float, settings: Any) -> None:
    """Raises UsageError for a demo that cannot be played: an earlier one is deleted only for one that can."""
    from replay.challenges import load_challenges
    from replay.rulebook import load_rulebook
    from replay.simulate import check_challenges, check_shares

    check_shares(forged, others)
    check_challenges(load_challenges(settings.challenges, load_rulebook(settings.rules)), days)


def _make_room(lake: Path, fresh: bool) -> None:
    if not lake.exists():
        return
    if not fresh:
        raise UsageError(f"{lake}: is there already, give another folder with --lake or --fresh to delete it")
    # Only what a demo makes is deleted, and only where a demo made it.
    if not (lake / "truth").is_dir():
        raise UsageError(f"{lake}: was not made by a demo (it has no truth/ folder), give another folder with --lake")
    import shutil

    shutil.rmtree(lake)


def _show_nights(out: Any, runs: list[dict[str, Any]]) -> None:
    from replay.incident_words import headline

    for run in runs:
        if run["incidents"]:
            out.print(f"{run['day']}: {headline(run['incidents'])}", style="bold red", soft_wrap=True)
    # A column for what is hardly ever there would stand empty.
    held = ("held back",) if any(run["incidents"] for run in runs) else ()
    nights = common.table(
        "Nights",
        ("day", "left"),
        *((name, "right") for name in ("records", "verified", "flagged", *held, "copies", "quarantined", "moves")),
    )
    reasons: dict[str, int] = {}
    for run in runs:
        verdicts = run["verdicts"]
        nights.add_row(
            run["day"], f"{run['records']:,}", f"{verdicts['verified']:,}", f"{verdicts['flagged']:,}",
            *(f"{verdicts['withheld']:,}" for _ in held), f"{verdicts['copy']:,}", f"{run['quarantined']:,}",
            f"{verdicts['moves_replayed']:,}",
        )  # fmt: skip
        for code, number in run["reasons"].items():
            reasons[code] = reasons.get(code, 0) + number
    out.print(nights)
    flags = common.table("Flags by reason", ("reason", "left"), ("games", "right"))
    for code, number in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        flags.add_row(code, f"{number:,}")
    out.print(flags)


def _show_truth(out: Any, compared: Any) -> None:
    truth = common.table("Against the truth", ("game", "left"), ("kind", "left"), ("uploads", "right"), ("judged right", "right"))
    for (game, kind), (total, right) in compared.games.items():
        truth.add_row(game, kind, f"{total:,}", f"{right:,}")
    out.print(truth)
    if compared.wrong:
        out.print(f"WRONG: {compared.wrong:,} uploads were not judged as the truth says, for example:", style="bold red")
        for line in compared.examples:
            out.print(f"  {line}", soft_wrap=True)
    else:
        out.print(
            f"All {compared.forged:,} forged or broken uploads judged as the truth says, each forgery with its reasons;"
            f" none of {compared.honest:,} honest games flagged.",
            style="bold green",
        )
    if compared.held:
        out.print(f"{compared.held:,} of these flags are held back, as those of an app version that looks broken.")


def doctor(
    lake: common.NoLakeOption = None,
    as_json: common.JsonOption = False,
) -> None:
    """Check this installation and, with --lake, what is published there."""
    from replay.doctor import examine
    from replay.words import visible

    findings = examine(lake)
    if as_json:
        common.print_json([{"check": name, "fine": fine, "found": found} for name, fine, found in findings])
    else:
        out = common.table("Doctor", ("check", "left"), ("", "left"), ("found", "left"))
        for name, fine, found in findings:
            out.add_row(name, "ok" if fine else "WRONG", visible(found, 500))
        common.console().print(out)
    if not all(fine for _, fine, _ in findings):
        raise typer.Exit(1)
