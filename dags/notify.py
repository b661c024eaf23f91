"""Telling people about a night: its report, what failed, and flag rates far above the usual.

Where Airflow runs a callback decides what it knows.  Those of tasks run in the task's own process on its worker, after the task
has ended.  Those of a whole run run in the Dag processor, as do those of a task that its executor lost; there the error is gone.
A task whose process is killed for good gets none of its own: the run's callback is the one that tells.  What a callback raises is
only logged, wherever it runs.

Set in the environment of workers and Dag processor:

- ``REPLAY_MAIL_TO``: addresses, with commas between; without it nothing is mailed;
- ``REPLAY_MAIL_CONN``: the SMTP connection (smtp_default), whose extra ``from_email`` is the sender;
- ``REPLAY_FLAG_RATE_CALLBACK``: ``module:function``, called with the report when flags are held back or a flag rate stands out.
"""

from __future__ import annotations

import importlib
import logging
import os
import tempfile
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

# What the runbook says, by task: (tasks, what the error says, what to do).
RUNBOOK = (
    (
        "pull, publish",
        "no log file was received, or no game is in them",
        "Clear `pull` when they have landed; a day that really was empty is run with the parameter `allow_empty`.",
    ),
    ("verify", "a file is gone, or the rules or tables have changed", "Clear `pull` with its downstream tasks."),
    (
        "verify",
        "killed, out of memory",
        "It is retried. Lower `REPLAY_SHARD_GAMES` or `REPLAY_THREADS`, then clear from `plan`.",
    ),
    ("publish", "shards are not verified", "Clear the failed `verify` tasks with their downstream tasks."),
    (
        "publish",
        "the day would be emptied",
        "The files were replaced by empty or broken ones: land them again and clear `pull`.",
    ),
    ("publish, standings", "another night is writing", "It is retried; look for a `replay nightly` by hand."),
    (
        "standings",
        "a check failed",
        "Verdicts are published, the boards are yesterday's. The check's name says where to look.",
    ),
    (
        "report",
        "a day has changed and stays as it was published",
        "Its sentence says why; when that day's files are right clear that day, and then `late` of this one.",
    ),
    (
        "report",
        "no record could be read",
        "The files are of another kind than the readers expect: look at the quarantine.",
    ),
)


def runbook_table() -> str:
    """The runbook's table in Markdown."""
    rows = [f"| {tasks} | {says} | {do} |" for tasks, says, do in RUNBOOK]
    return "\n".join(["| task | it says | do |", "|---|---|---|", *rows])


# --- Callbacks -----------------------------------------------------------------------------------------------------------


def task_failed(context: Any) -> None:
    """A task has failed for good: its owner, day, name, error and what the runbook says, to the log and by mail."""
    ti, task = context["ti"], context["task"]
    day, name = _day(context), ti.task_id
    error = _sentence(context.get("exception"))
    log.error("%s of the night of %s failed: %s", name, day, error)
    if _siblings_failed(ti):
        log.info("other tasks of %s failed before and were mailed about; this one is left to the log", name)
    else:
        lines = [
            f"# {name} failed, night of {day}", "", "| | |", "| --- | --- |", f"| owner | {_cell(task.owner)} |",
            f"| day | {_cell(day)} |", f"| task | {_cell(_task_name(ti))} |", f"| run | {_cell(ti.run_id)} |",
            f"| attempts | {ti.try_number} |", "", _cell(error), "", *_advice(name), "", f"Log: {ti.log_url}", "",
        ]  # fmt: skip
        _mail(f"Night of {day}: {name} failed", "\n".join(lines))
    if name == "report" and _report_was_written(context.get("exception")):
        report_written(context)


def run_failed(context: Any) -> None:
    """A run has failed: by its tasks, because it took too long, or because nothing in it could go on."""
    day, reason = _day(context), str(context.get("reason"))
    why = {
        "task_failure": "a task failed for good", "timed_out": "it took longer than a night may take",
        "all_tasks_deadlocked": "none of its tasks could go on",
    }.get(reason, reason)  # fmt: skip
    log.error("the night of %s failed: %s", day, why)
    last = context.get("ti")
    lines = [
        f"# The night of {day} failed", "", f"It failed because {why}. What was published before stays as it is.", "",
        "| | |", "| --- | --- |", f"| owner | {_cell(context['dag'].owner)} |", f"| day | {_cell(day)} |",
        f"| run | {_cell(context['run_id'])} |", f"| last task | {_cell(_task_name(last)) if last else '-'} |", "",
        *(_advice(last.task_id) if last and reason == "task_failure" else []), "",
    ]  # fmt: skip
    _mail(f"Night of {day} failed", "\n".join(lines))


def report_written(context: Any) -> None:
    """The night's report by mail; when flags are held back, or a flag rate stands out, the subject says so and
    REPLAY_FLAG_RATE_CALLBACK is called."""
    callback = os.environ.get("REPLAY_FLAG_RATE_CALLBACK")
    if not callback and not os.environ.get("REPLAY_MAIL_TO"):
        return
    from replay import tasks
    from replay.incident_words import headline, held_now, held_words, told
    from replay.report import as_markdown

    found = tasks.read_report(os.environ["REPLAY_LAKE"], _day(context))
    stands_out, held = found["stands_out"] or [], held_now(found["incidents"])
    subject = f"Night of {found['day']}: {found['counts']['records']:,} games, {found['counts']['flagged']:,} flagged"
    if held:
        log.warning("%s", headline(held))
        for line in told(held):
            log.warning("%s", line)
    if stands_out:
        log.warning("flag rates far above the usual: %s", ", ".join(f"{row['kind']} {row['name']!a}" for row in stands_out))
        subject = f"FLAG RATE: {subject}, {len(stands_out)} far above the usual"
    if held:
        subject = f"HELD BACK: {subject}, {held_words(held)} held back"
    if callback and (stands_out or held):
        _call(callback, found)
    _mail(subject, as_markdown(found))


# --- Parts ---------------------------------------------------------------------------------------------------------------


def _day(context: Any) -> str:
    """The day of a run, as far as its context knows: a run that failed before any task may know its id only."""
    day = context.get("partition_key") or (context.get("params") or {}).get("day")
    return str(day or f"(no day, run {context.get('run_id')})")


def _task_name(ti: Any) -> str:
    return ti.task_id if ti.map_index is None or ti.map_index < 0 else f"{ti.task_id} [{ti.map_index}]"


def _sentence(error: BaseException | str | None) -> str:
    """What an error says, in one line; ours and Airflow's are sentences, others need their kind."""
    if error is None:
        return "no error was left: the process was killed or its machine was lost"
    text = str(error).partition("\n")[0]
    if isinstance(error, str) or (text and type(error).__module__.split(".")[0] in ("replay", "airflow")):
        return text
    return f"{type(error).__name__}: {text}"


def _advice(task_id: str) -> list[str]:
    rows = [f"- {says}: {do}" for tasks, says, do in RUNBOOK if task_id in tasks.split(", ")]
    return ["What the runbook says:", "", *rows] if rows else ["The runbook has no line for this task: do what its error says."]


def _cell(text: str) -> str:
    """Text of any source as a cell of a Markdown table, or between its lines."""
    from replay.words import visible

    return visible(text, 4000).replace("|", "\\|").replace("<", "&lt;")


def _siblings_failed(ti: Any) -> bool:
    """Whether another task of the same mapping failed before: a thousand shards that fail alike are one mail."""
    if ti.map_index is None or ti.map_index < 0:
        return False
    failed = ti.get_ti_count(dag_id=ti.dag_id, task_ids=[ti.task_id], run_ids=[ti.run_id], states=["failed"])
    mine = ti.get_ti_count(
        dag_id=ti.dag_id, task_ids=[ti.task_id], run_ids=[ti.run_id], states=["failed"], map_index=ti.map_index
    )
    return bool(failed > mine)


def _report_was_written(error: BaseException | str | None) -> bool:
    """``report`` fails with a NightError after it has written, but for a lake that another night holds."""
    from replay.errors import NightError, NightRunning

    return isinstance(error, NightError) and not isinstance(error, NightRunning)


def _call(name: str, report: dict[str, Any]) -> None:
    """Call ``module:function`` with the report; what goes wrong there is for the log, the mail still goes out."""
    module, _, function = name.partition(":")
    try:
        getattr(importlib.import_module(module), function)(report)
    except Exception:
        log.exception("REPLAY_FLAG_RATE_CALLBACK %r failed; the night stands", name)


def _mail(subject: str, markdown: str) -> None:
    """Mail a page as HTML with its Markdown attached.  A server that is down is for the log: no night fails of it."""
    to = [address.strip() for address in os.environ.get("REPLAY_MAIL_TO", "").split(",") if address.strip()]
    if not to:
        return
    from airflow.providers.smtp.notifications.smtp import SmtpNotifier

    from replay.mail import as_html

    connection = os.environ.get("REPLAY_MAIL_CONN", "smtp_default")
    with tempfile.TemporaryDirectory(prefix="night-mail-") as folder:
        page = Path(folder) / "report.md"
        page.write_text(markdown, "utf-8")
        # The notifier renders its fields with Jinja: what comes from players' clients goes in as values, never as a template.
        notifier = SmtpNotifier(
            to=to, subject="{{ night_subject }}", html_content="{{ night_html }}", files=[str(page)], smtp_conn_id=connection
        )
        values = {"night_subject": " ".join(subject.split()), "night_html": as_html(markdown)}
        try:
            notifier(values)
        except Exception:
            log.exception("mail %r could not be sent over the connection %s; the night stands", subject, connection)
