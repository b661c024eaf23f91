"""The night of the day before as an Airflow DAG, at 02:00 UTC: pull, plan, verify (mapped), publish, standings, late, report.

Airflow reads this file every few seconds: replay itself is imported inside the tasks only.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import DAG, Asset, CronPartitionTimetable, Param, task
from airflow.sdk.exceptions import AirflowFailException

RUNBOOK = """
### What it does

At 02:00 UTC every game that landed the day before is replayed; verdicts, quarantine, standings and a report are published.
The day is the run's **partition key**, `YYYY-MM-DD`.

`pull` (hashes of the day's files) → `plan` (shards) → `verify` (mapped, at most 1,000 tasks) → `publish` → `standings` → `late`
(published days shortly before, whose files changed, once more) → `report`

### What it needs

On every machine that runs tasks: the folder of the lake under the same path, and in the environment

- `REPLAY_LAKE`: that folder, holding `logs/day=YYYY-MM-DD/`;
- `REPLAY_THREADS`: threads of one task (1 if unset), as tasks run beside each other;
- any other `REPLAY_…` setting as for `replay nightly`.

### By hand

- One day: *Trigger* with the parameter `day`, or with a partition key over the API. A run that names no day is refused, one that
  names two as well.
- A day again: `airflow dags clear nightly_verification --partition-key DAY -y`. The same files give the same outputs.
- Runs go one after the other. One that waits for a retry holds up the rest: mark it failed to let the next one begin.
- Many days: `airflow backfill create --dag-id nightly_verification --from-date FIRST --to-date LAST+1 --max-active-runs 1
  --reprocess-behavior completed`. Dates are the days themselves, and `--to-date` is one day after the last.

### When a task fails

Nothing half is ever visible; all tasks may be cleared and run again. The error's sentence says what to do.

| task | it says | do |
|---|---|---|
| pull | no log file was received | Clear `pull` when it has landed; `allow_empty` is for a day that really was empty. |
| verify | a file is gone, or the rules or tables have changed | Clear `pull` with its downstream tasks. |
| verify | killed, out of memory | It is retried. Lower `REPLAY_SHARD_GAMES` or `REPLAY_THREADS`, then clear from `plan`. |
| publish | shards are not verified | Clear the failed `verify` tasks with their downstream tasks. |
| publish | the day would be emptied | The files were replaced by empty or broken ones: land them again and clear `pull`. |
| publish, standings | another night is writing | It is retried; look for a `replay nightly` by hand. |
| standings | a check failed | Verdicts are published, the boards are yesterday's. The check's name says where to look. |
| report | a day has changed and stays as it was published | Its sentence says why; clear that day when its files are right. |
| report | no record could be read | The files are of another kind than the readers expect: look at the quarantine. |
"""

# Other teams' DAGs follow a day's verdicts and standings with schedule=[published_day]; the event's extra names the day.
published_day = Asset("replay_published_day", uri="replay://published/day")


def settled_day(partition_key: str | None, params: Any) -> tuple[str, str]:
    """(lake, day) of a run.  Raises AirflowFailException: no retry mends a run that names no day, or two."""
    from replay.errors import UsageError
    from replay.tasks import decide_day

    lake = os.environ.get("REPLAY_LAKE")
    if not lake:
        raise AirflowFailException("REPLAY_LAKE is not set: name the folder of the lake in the environment of the workers")
    # Tasks run beside each other on the cores of one machine; each that took them all would slow all.
    os.environ.setdefault("REPLAY_THREADS", "1")
    try:
        return lake, decide_day(partition_key, params["day"])
    except UsageError as error:
        raise AirflowFailException(str(error)) from error


with DAG(
    "nightly_verification",
    description="Replays every game of the day before and publishes verdicts, standings and a report",
    schedule=CronPartitionTimetable("0 2 * * *", timezone="UTC", run_offset=-1, key_format="%Y-%m-%d"),
    start_date=datetime(2026, 10, 1, tzinfo=UTC),
    catchup=False,
    # The warehouse has one writer.
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=20),
    params={
        "day": Param(None, type=["null", "string"], format="date", title="Day", description="For a run by hand, YYYY-MM-DD."),
        "allow_empty": Param(False, type="boolean", title="Allow empty", description="Publish a day that received nothing."),
    },
    default_args={
        "owner": "scores",
        "retries": 4,
        "retry_delay": timedelta(minutes=1),
        "retry_exponential_backoff": True,
        "max_retry_delay": timedelta(minutes=30),
        "execution_timeout": timedelta(hours=1),
    },
    tags=["replay", "nightly", "verification"],
    doc_md=RUNBOOK,
) as dag:

    @task
    def pull(*, partition_key: str | None = None, params: Any = None) -> dict[str, Any]:
        """Hashes of the day's files."""
        from replay import tasks

        return tasks.pull(*settled_day(partition_key, params), allow_empty=params["allow_empty"])

    @task
    def plan(*, partition_key: str | None = None, params: Any = None) -> list[str]:
        """The day cut into shards."""
        from replay import tasks

        return tasks.plan(*settled_day(partition_key, params))

    @task(execution_timeout=timedelta(hours=2), map_index_template="{{ spec_name }}")
    def verify(spec: str, *, partition_key: str | None = None, params: Any = None) -> dict[str, Any]:
        """The shards of one spec, replayed."""
        from airflow.sdk import get_current_context

        from replay import tasks

        get_current_context()["spec_name"] = os.path.basename(spec).removesuffix(".json")  # type: ignore[typeddict-unknown-key]
        return tasks.verify(*settled_day(partition_key, params), spec)

    # A day without shards maps to no task at all; whether it may be published is decided by publish.
    @task(trigger_rule="none_failed")
    def publish(*, partition_key: str | None = None, params: Any = None) -> dict[str, Any]:
        """Verdicts, quarantine and run.json become visible."""
        from replay import tasks

        return tasks.publish(*settled_day(partition_key, params), allow_empty=params["allow_empty"])

    @task(outlets=[published_day])
    def standings(*, partition_key: str | None = None, params: Any = None, outlet_events: Any = None) -> dict[str, Any]:
        """The warehouse is built and switched to."""
        from replay import tasks

        lake, day = settled_day(partition_key, params)
        outlet_events[published_day].extra = {"day": day}
        return tasks.standings(lake)

    @task(execution_timeout=timedelta(hours=4))
    def late(*, partition_key: str | None = None, params: Any = None) -> dict[str, Any]:
        """Published days shortly before are verified again where their files changed."""
        from replay import tasks

        return tasks.late(*settled_day(partition_key, params))

    @task
    def report(*, partition_key: str | None = None, params: Any = None) -> dict[str, Any]:
        """Counts, rates and changes beside the day's run.json."""
        from replay import tasks

        return tasks.report(*settled_day(partition_key, params))

    planned = plan()
    pull() >> planned
    verify.expand(spec=planned) >> publish() >> standings() >> late() >> report()
