"""The night of the day before as an Airflow DAG, at 02:00 UTC: pull, plan, verify (mapped), publish, standings, late, report.

Airflow reads this file every few seconds: replay itself is imported inside the tasks only.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import connections
import notify
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

- `REPLAY_LAKE`: that folder, holding `logs/day=YYYY-MM-DD/`, or the URL of a lake on an object store, which needs no folder;
- `REPLAY_THREADS`: threads of one task (1 if unset), as tasks run beside each other;
- any other `REPLAY_…` setting as for `replay nightly`;
- where uploads land, if they do not land in the lake: `REPLAY_SOURCE`, a folder or URL with `{day}` in it, with
  `REPLAY_SOURCE_OPTIONS`; or `REPLAY_SOURCE_CONN`, a connection (`dags/connections.py` says what stands where in it);
- to be told by mail (there and for the Dag processor): `REPLAY_MAIL_TO`, addresses with commas between, and the connection
  `smtp_default` (or `REPLAY_MAIL_CONN`) with `from_email` in its extra; `REPLAY_FLAG_RATE_CALLBACK`, `module:function`, is called
  with the report when flags are held back or a flag rate stands out.

### By hand

- One day: *Trigger* with the parameter `day`, or with a partition key over the API. A run that names no day is refused, one that
  names two as well.
- A day again: `airflow dags clear nightly_verification --partition-key DAY -y`. The same files give the same outputs.
- Runs go one after the other. One that waits for a retry holds up the rest: mark it failed to let the next one begin.
- Many days: `airflow backfill create --dag-id nightly_verification --from-date FIRST --to-date LAST+1 --max-active-runs 1
  --reprocess-behavior completed`. Dates are the days themselves, and `--to-date` is one day after the last.

### When flags are held back

Where far more of an app version's games do not come out than ever before, the app or a rules file is taken for broken: nobody is
accused, and the log, the report and the mail's subject say so first, every night until its games come out again. Mend the app
or the rules file and clear the day; if it really is a wave of cheats, `replay release` makes flags of them.

### When a task fails

Nothing half is ever visible; all tasks may be cleared and run again. The error's sentence says what to do.

{table}
"""

RUNBOOK = RUNBOOK.replace("{table}", notify.runbook_table())

# Other teams' DAGs follow with schedule=PartitionedAssetTimetable(assets=published_day): a run for each published day, whose
# partition key is that day.  A plain schedule=[published_day] gets no run, as Airflow keeps events with a key for those.
published_day = Asset("replay_published_day", uri="replay://published/day")


# One XCom a task: each key of an answer once more by itself would be thousands of rows a night.
one_xcom = partial(task, multiple_outputs=False)


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
        "allow_empty": Param(
            False, type="boolean", title="Allow empty",
            description="Publish a day that received nothing, or lost all its verified games.",
        ),
    },
    default_args={
        "owner": "scores",
        "retries": 4,
        "retry_delay": timedelta(minutes=1),
        "retry_exponential_backoff": True,
        "max_retry_delay": timedelta(minutes=30),
        "execution_timeout": timedelta(hours=1),
        "on_failure_callback": notify.task_failed,
    },
    on_failure_callback=notify.run_failed,
    tags=["replay", "nightly", "verification"],
    doc_md=RUNBOOK,
) as dag:

    @one_xcom()
    def pull(*, partition_key: str | None = None, params: Any = None) -> dict[str, Any]:
        """Hashes of the day's files."""
        from replay import tasks

        lake, day = settled_day(partition_key, params)
        return tasks.pull(lake, day, allow_empty=params["allow_empty"], **connections.night_source())

    @task
    def plan(*, partition_key: str | None = None, params: Any = None) -> list[str]:
        """The day cut into shards."""
        from replay import tasks

        return tasks.plan(*settled_day(partition_key, params))

    @one_xcom(execution_timeout=timedelta(hours=2), map_index_template="{{ spec_name }}")
    def verify(spec: str, *, partition_key: str | None = None, params: Any = None) -> dict[str, Any]:
        """The shards of one spec, replayed."""
        from airflow.sdk import get_current_context

        from replay import tasks

        get_current_context()["spec_name"] = os.path.basename(spec).removesuffix(".json")  # type: ignore[typeddict-unknown-key]
        return tasks.verify(*settled_day(partition_key, params), spec)

    # A day without shards maps to no task at all; whether it may be published is decided by publish.
    @one_xcom(trigger_rule="none_failed")
    def publish(*, partition_key: str | None = None, params: Any = None) -> dict[str, Any]:
        """Verdicts, quarantine and run.json become visible."""
        from replay import tasks

        return tasks.publish(*settled_day(partition_key, params), allow_empty=params["allow_empty"])

    @one_xcom()
    def standings(*, partition_key: str | None = None, params: Any = None) -> dict[str, Any]:
        """The warehouse is built and switched to."""
        from replay import tasks

        lake, day = settled_day(partition_key, params)
        return tasks.standings(lake, day)

    @one_xcom(execution_timeout=timedelta(hours=4), outlets=[published_day])
    def late(*, partition_key: str | None = None, params: Any = None, outlet_events: Any = None) -> dict[str, Any]:
        """Published days shortly before are verified again where their files changed; then the night's days are announced."""
        from replay import tasks

        lake, day = settled_day(partition_key, params)
        done = tasks.late(lake, day, **connections.night_source())
        # An event each for the day and for those that changed; a run by hand that has no key gives its event the day's too.
        outlet_events[published_day].extra = {"day": day, "restated": done["days"]}
        outlet_events[published_day].add_partitions([day, *done["days"]])
        return done

    @one_xcom(on_success_callback=notify.report_written)
    def report(*, partition_key: str | None = None, params: Any = None) -> dict[str, Any]:
        """Counts, rates and changes beside the day's run.json."""
        from replay import tasks

        return tasks.report(*settled_day(partition_key, params))

    planned = plan()
    pull() >> planned
    verify.expand(spec=planned) >> publish() >> standings() >> late() >> report()
