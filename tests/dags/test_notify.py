"""Being told: the report and failures by mail over a real SMTP conversation, callbacks, and nights that no mail server can stop."""

from __future__ import annotations

import json
import logging
import socket
import sys
import types
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from replay.lake import Lake
from replay.reviews.releases import Group
from replay.reviews.store import open_reviews
from tests.dags.smtp_server import SmtpServer
from tests.dags.support import DAG_ID, ORDER, ROOT, loaded, run_day, states
from tests.replay.broken_app import land_day, lying_games
from tests.replay.night_support import ONE, TWO, land, upload, write_challenges

pytestmark = pytest.mark.usefixtures("database")


def connect(monkeypatch, port: int, name: str = "SMTP_DEFAULT") -> None:
    extra = {"from_email": "night@example.org", "disable_ssl": True, "disable_tls": True, "timeout": 5, "retry_limit": 0}
    held = {"conn_type": "smtp", "host": "127.0.0.1", "port": port, "extra": extra}
    monkeypatch.setenv(f"AIRFLOW_CONN_{name}", json.dumps(held))


@pytest.fixture
def server(monkeypatch):
    with SmtpServer() as found:
        connect(monkeypatch, found.port)
        monkeypatch.setenv("REPLAY_MAIL_TO", "ops@example.org, scores@example.org")
        yield found


@pytest.fixture
def told(monkeypatch):
    """The reports that a flag-rate callback was called with."""
    reports: list[dict] = []
    module = types.ModuleType("flag_rate_callback_of_a_test")
    module.called = reports.append
    module.broken = lambda report: 1 // 0
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setenv("REPLAY_FLAG_RATE_CALLBACK", f"{module.__name__}:called")
    return reports


def land_days(lake, monkeypatch, bad: int, version: str = "1.0") -> None:
    """Two days of ten games; on the second ``bad`` are flagged, of a client that says ``version``."""
    monkeypatch.setenv("REPLAY_CHALLENGES", str(write_challenges(lake.parent / "challenges.csv")))
    for day in (ONE, TWO):
        games = [upload(f"g{i}-{day}", f"p{i}", day, seed=i % 5) for i in range(10)]
        if day == TWO:
            games[:bad] = [replace(game, score=game.score + 1, app_version=version) for game in games[:bad]]
        land(lake, day, "a.ndjson", games)


def parts(mail) -> tuple[str, str]:
    """(HTML, attached Markdown) of a mail."""
    html, attached = mail.iter_parts()
    assert html.get_content_type() == "text/html"
    assert attached.get_filename() == "report.md"
    return html.get_content(), attached.get_content().decode()


def test_the_report_comes_by_mail(lake, server):
    assert str(run_day(ONE).state) == "success"
    (mail,) = server.mails
    assert mail["From"] == "night@example.org"
    assert mail["To"] == "ops@example.org, scores@example.org"
    run = json.loads((lake / "runs" / f"day={ONE}" / "run.json").read_text())
    assert mail["Subject"] == f"Night of {ONE}: {run['records']:,} games, {run['verdicts']['flagged']:,} flagged"
    html, markdown = parts(mail)
    assert markdown == (lake / "reports" / f"day={ONE}" / "report.md").read_text()
    assert f"<h1>Night of {ONE}</h1>" in html
    assert '<td align="left">score_mismatch</td>' in html
    assert "No night was published before this one" in html


def test_without_an_address_nothing_is_sent_and_nothing_fails(lake, server, monkeypatch):
    monkeypatch.delenv("REPLAY_MAIL_TO")
    assert str(run_day(ONE).state) == "success"
    assert str(run_day("2026-10-20").state) == "failed"
    assert server.mails == []


@pytest.mark.parametrize("fault", ["down", "no connection", "no sender"])
def test_a_mail_server_that_is_down_fails_no_night_and_is_seen(lake, server, monkeypatch, caplog, fault):
    if fault == "down":
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        connect(monkeypatch, port)
    elif fault == "no connection":
        monkeypatch.setenv("REPLAY_MAIL_CONN", "nobody_made_it")
    else:
        monkeypatch.setenv("AIRFLOW_CONN_SMTP_DEFAULT", json.dumps({"conn_type": "smtp", "host": "127.0.0.1", "port": server.port,
                                                                    "extra": {"disable_ssl": True, "disable_tls": True}}))  # fmt: skip
    with caplog.at_level(logging.ERROR, logger="notify"):
        run = run_day(ONE)
    assert states(run) == {name: {"success"} for name in ORDER}
    assert (lake / "reports" / f"day={ONE}" / "report.md").exists()
    assert server.mails == []
    (seen,) = [record for record in caplog.records if record.name == "notify"]
    assert f"'Night of {ONE}: " in seen.getMessage()
    assert "could not be sent over the connection" in seen.getMessage()
    assert seen.exc_info


def test_another_connection_may_be_named(lake, server, monkeypatch):
    monkeypatch.delenv("AIRFLOW_CONN_SMTP_DEFAULT")
    monkeypatch.setenv("REPLAY_MAIL_CONN", "house_mail")
    connect(monkeypatch, server.port, "HOUSE_MAIL")
    assert str(run_day(ONE).state) == "success"
    assert len(server.mails) == 1


# --- Failures ------------------------------------------------------------------------------------------------------------


def test_a_failure_says_who_what_when_and_what_to_do(lake, server, caplog):
    with caplog.at_level(logging.ERROR, logger="notify"):
        run = run_day("2026-10-20")
    assert str(run.state) == "failed"
    subjects = [mail["Subject"] for mail in server.mails]
    assert subjects == ["Night of 2026-10-20: pull failed", "Night of 2026-10-20 failed"]
    html, markdown = parts(server.mails[0])
    sentence = f"{lake}/logs/day=2026-10-20: no log file was received for 2026-10-20; use --allow-empty if that is right"
    for text in ("| owner | scores |", "| day | 2026-10-20 |", "| task | pull |", f"| run | {run.run_id} |", sentence,
                 "- no log file was received, or no game is in them: Clear `pull` when they have landed"):  # fmt: skip
        assert text in markdown, text
    assert "<li>no log file was received, or no game is in them: Clear <code>pull</code> when they have landed" in html
    assert f'<a href="{markdown.partition("Log: ")[2].strip()}">' in html
    assert f"pull of the night of 2026-10-20 failed: {sentence}" in [record.getMessage() for record in caplog.records]
    html, markdown = parts(server.mails[1])
    assert "It failed because a task failed for good." in markdown
    assert "| last task | pull |" in markdown


def test_a_thousand_shards_that_fail_alike_are_one_mail(lake, server, monkeypatch):
    from replay import shards
    from replay.errors import NightError

    def broken(shard, *rest, **options):
        raise NightError(f"shard {shard.number} cannot be verified")

    monkeypatch.setattr(shards, "verify_shard", broken)
    run = run_day(ONE)
    failed = [instance for instance in run.get_task_instances(state=["failed"]) if instance.task_id == "verify"]
    assert len(failed) > 2
    assert [mail["Subject"] for mail in server.mails] == [f"Night of {ONE}: verify failed", f"Night of {ONE} failed"]


def test_a_retry_that_helps_is_not_told(lake, server, monkeypatch):
    """Only what fails for good is mailed about."""
    from replay import tasks
    from replay.errors import NightRunning

    whole, tries = tasks.publish, []

    def busy(*words, **options):
        tries.append(1)
        if len(tries) < 2:
            raise NightRunning("another night holds the lake")
        return whole(*words, **options)

    monkeypatch.setattr(tasks, "publish", busy)
    dag = loaded(1)
    dag.get_task("publish").retry_delay = timedelta(0)
    run = dag.test(run_conf={"day": str(ONE)})
    assert (str(run.state), len(tries)) == ("success", 2)
    assert [mail["Subject"].split(":")[0] for mail in server.mails] == [f"Night of {ONE}"]


def test_the_run_s_callback_knows_little_and_still_tells(environment, server):
    """In the Dag processor a run that took too long before its first task has no day, no task and no error."""
    import notify

    notify.run_failed({"dag": loaded(), "run_id": "scheduled__x", "reason": "timed_out"})
    (mail,) = server.mails
    assert mail["Subject"] == "Night of (no day, run scheduled__x) failed"
    assert "it took longer than a night may take" in parts(mail)[1]


def test_a_run_that_takes_too_long_asks_for_its_callback(lake, server):
    """The scheduler's own step for a run that is over its time gives the Dag processor a request that leads to the mail."""
    from airflow.callbacks.callback_requests import DagCallbackRequest, DagRunContext
    from airflow.dag_processing.dagbag import DagBag
    from airflow.dag_processing.processor import _execute_dag_callbacks

    run = run_day(ONE)
    server.mails.clear()
    last = max(run.get_task_instances(), key=lambda ti: ti.end_date or datetime.min.replace(tzinfo=UTC))
    request = DagCallbackRequest(
        filepath="nightly_verification.py", dag_id=DAG_ID, run_id=run.run_id, bundle_name="dags-folder", bundle_version=None,
        context_from_server=DagRunContext(dag_run=run, last_ti=last), is_failure_callback=True, msg="timed_out",
    )  # fmt: skip
    import structlog

    _execute_dag_callbacks(DagBag(str(ROOT / "dags")), request, structlog.get_logger())
    (mail,) = server.mails
    assert mail["Subject"] == f"Night of {ONE} failed"
    assert "it took longer than a night may take" in parts(mail)[1]


def test_a_lost_task_is_told_without_its_error(lake, server):
    """A task that its executor lost is told by the Dag processor, which has no error to show."""
    import notify

    dag = loaded()
    ti = types.SimpleNamespace(
        task_id="verify", map_index=-1, run_id="r", try_number=5, log_url="http://127.0.0.1/log", dag_id=DAG_ID
    )
    notify.task_failed({"dag": dag, "task": dag.get_task("publish"), "ti": ti, "run_id": "r", "partition_key": "2026-10-31"})
    (mail,) = server.mails
    markdown = parts(mail)[1]
    assert "no error was left: the process was killed or its machine was lost" in markdown
    assert "- killed, out of memory: It is retried." in markdown


# --- Flag rates ----------------------------------------------------------------------------------------------------------


def test_a_flag_rate_far_above_the_usual_calls_and_mails(environment, server, told, monkeypatch):
    """The callback gets the report; the mail has a subject of its own; a hostile client name is text in both, never a template."""
    monkeypatch.setenv("REPLAY_FLAG_RATE_LEAST", "3")
    land_days(environment, monkeypatch, bad=4, version="{{ 7 * 7 }}<b>|\x1b[2J{% raw %}")
    assert str(run_day(ONE).state) == "success"
    assert (told, [mail["Subject"] for mail in server.mails]) == ([], [f"Night of {ONE}: 10 games, 0 flagged"])
    assert str(run_day(TWO).state) == "success"
    (report,) = told
    assert [(row["kind"], row["flagged"]) for row in report["stands_out"]] == [("reason", 4), ("client", 4)]
    assert report == json.loads((environment / "reports" / f"day={TWO}" / "report.json").read_text())
    mail = server.mails[-1]
    assert mail["Subject"] == f"FLAG RATE: Night of {TWO}: 10 games, 4 flagged, 2 far above the usual"
    html, markdown = parts(mail)
    for page in (html, markdown):
        assert "{{ 7 * 7 }}" in page
        assert "\x1b" not in page
        assert "<b>|" not in page
    assert "{{ 7 * 7 }}&lt;b&gt;|" in html


def test_b6_flags_that_are_held_back_call_and_mail_first(environment, server, told, monkeypatch):
    """B6: the subject says so before all else, and the report's first lines; nobody is flagged."""
    monkeypatch.setenv("REPLAY_CHALLENGES", str(write_challenges(environment.parent / "challenges.csv")))
    land_day(environment, ONE, lying_games(ONE, 42, 40), games=60, flags=0)
    assert str(run_day(ONE).state) == "success"
    (mail,) = server.mails
    assert mail["Subject"] == f"HELD BACK: Night of {ONE}: 282 games, 0 flagged, 40 flags of 1 app version held back"
    for page in parts(mail):
        assert page.index("Held back: 40 flags of 1 app version that looks broken; nobody is accused") < page.index("records")
    (report,) = told
    assert [incident["held"] for incident in report["incidents"]] == [40]


def test_b6_flags_that_were_released_are_held_back_no_longer_when_their_day_runs_again(environment, server, told, monkeypatch):
    monkeypatch.setenv("REPLAY_CHALLENGES", str(write_challenges(environment.parent / "challenges.csv")))
    land_day(environment, ONE, lying_games(ONE, 42, 40), games=60, flags=0)
    assert str(run_day(ONE).state) == "success"
    (found,) = json.loads((environment / "runs" / f"day={ONE}" / "run.json").read_text("utf-8"))["incidents"]
    group = Group(ONE, *(found[name] for name in ("game", "platform", "app_version", "rules")))
    with open_reviews(Lake(environment)) as store:
        store.release(group, reviewer="ana", reason="all of them", about=found["digest"])
    assert str(run_day(ONE).state) == "success"
    assert server.mails[-1]["Subject"] == f"Night of {ONE}: 282 games, 0 flagged"
    for page in parts(server.mails[-1]):
        assert "Released: 40 flags of 1 app version were held back and stand as flags." in page
        assert "Held back:" not in page
    assert len(told) == 1, "no callback the second time"


def test_too_few_flags_are_no_alarm(environment, server, told, monkeypatch):
    monkeypatch.setenv("REPLAY_FLAG_RATE_LEAST", "5")
    land_days(environment, monkeypatch, bad=4)
    for day in (ONE, TWO):
        assert str(run_day(day).state) == "success"
    assert told == []
    assert server.mails[-1]["Subject"] == f"Night of {TWO}: 10 games, 4 flagged"


@pytest.mark.parametrize("name", ["flag_rate_callback_of_a_test:broken", "no_such_module:f", "nothing"])
def test_a_callback_that_fails_stops_neither_the_night_nor_the_mail(environment, server, told, monkeypatch, caplog, name):
    monkeypatch.setenv("REPLAY_FLAG_RATE_LEAST", "3")
    monkeypatch.setenv("REPLAY_FLAG_RATE_CALLBACK", name)
    land_days(environment, monkeypatch, bad=4)
    with caplog.at_level(logging.ERROR, logger="notify"):
        assert [str(run_day(day).state) for day in (ONE, TWO)] == ["success"] * 2
    assert f"REPLAY_FLAG_RATE_CALLBACK {name!r} failed; the night stands" in [record.getMessage() for record in caplog.records]
    assert server.mails[-1]["Subject"].startswith("FLAG RATE: ")


def test_a_report_that_fails_behind_its_writing_is_still_sent(lake, server):
    """A day before that went bad fails the report; what the night itself found is told all the same."""
    assert str(run_day(ONE).state) == "success"
    for path in (lake / "logs" / f"day={ONE}").iterdir():
        path.unlink()
    server.mails.clear()
    assert states(run_day(TWO))["report"] == {"failed"}
    subjects = [mail["Subject"] for mail in server.mails]
    assert [subject.split(" games")[0].rstrip("0123456789,") for subject in subjects] == [
        f"Night of {TWO}: report failed", f"Night of {TWO}: ", f"Night of {TWO} failed"
    ]  # fmt: skip
    assert f"{ONE} has changed and stays as it was published" in parts(server.mails[0])[1]
