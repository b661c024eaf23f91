"""An asset event for every published day, and the DAG of the README that follows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.dags.support import DAG_ID, ROOT, run_day
from tests.replay.night_support import ONE, TWO, land

pytestmark = pytest.mark.usefixtures("database")

ASSET = "replay_published_day"


@pytest.fixture
def consumers(tmp_path):
    """The DAG that the README shows, and one with a plain schedule, as another team's folder has them, known to Airflow and on."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
    from airflow.models.dag import DagModel
    from airflow.utils.session import create_session
    from sqlalchemy import update

    folder = tmp_path / "dags"
    folder.mkdir()
    (code,) = re.findall(r"```python\n(from airflow\.sdk .*?)```", (ROOT / "README.md").read_text("utf-8"), re.S)
    assert len(code.strip().splitlines()) <= 12
    (folder / "scores_page.py").write_text(code)
    plain = code.replace("PartitionedAssetTimetable(assets=published_day)", "[published_day]").replace(
        "scores_page", "plain_page"
    )
    (folder / "plain_page.py").write_text(plain)
    bag = DagBag(str(folder))
    assert (bag.import_errors, set(bag.dags)) == ({}, {"scores_page", "plain_page"})
    DagBundlesManager().sync_bundles_to_db()
    sync_bag_to_db(bag, "dags-folder", None)
    with create_session() as session:
        session.execute(update(DagModel).where(DagModel.dag_id.in_(bag.dags)).values(is_paused=False))
    yield bag.dags
    with create_session() as session:
        session.execute(update(DagModel).where(DagModel.dag_id.in_(bag.dags)).values(is_paused=True))


def events() -> list[tuple[str, dict]]:
    """(partition key, extra) of the asset's events, in order."""
    from airflow.models.asset import AssetEvent, AssetModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        chosen = select(AssetEvent).join(AssetModel, AssetModel.id == AssetEvent.asset_id).where(AssetModel.name == ASSET)
        found = session.scalars(chosen.order_by(AssetEvent.id))
        return [(event.partition_key, event.extra) for event in found if event.source_dag_id == DAG_ID]


def started() -> list[tuple[str, str]]:
    """(DAG, partition key) of the runs that the scheduler starts for events now."""
    from airflow.jobs.job import Job
    from airflow.jobs.scheduler_job_runner import SchedulerJobRunner
    from airflow.models.dag import DagModel
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        before = set(session.scalars(select(DagRun.id)))
        runner = SchedulerJobRunner(job=Job())
        runner._create_dagruns_for_partitioned_asset_dags(session=session)
        dag_models, triggered = DagModel.dags_needing_dagruns(session)
        runner._create_dag_runs_asset_triggered(
            dag_models=[model for model in dag_models if model.dag_id in triggered], session=session
        )
        session.flush()
        found = [run for run in session.scalars(select(DagRun).order_by(DagRun.id)) if run.id not in before]
        return [(run.dag_id, run.partition_key) for run in found]


def test_each_published_day_is_an_event_and_starts_the_readme_s_dag(lake, consumers):
    """By hand with the parameter ``day`` too, where the run itself has no key."""
    first = len(events())
    assert str(run_day(ONE).state) == "success"
    assert events()[first:] == [(str(ONE), {"day": str(ONE), "restated": []})]
    assert started() == [("scores_page", str(ONE))]
    # A late file of a day before: that day is announced again beside the night's own.
    land(lake, ONE, "late.ndjson", [b"{"])
    assert str(run_day(TWO).state) == "success"
    assert sorted(key for key, _ in events()[first + 1 :]) == [str(ONE), str(TWO)]
    assert sorted(started()) == [("scores_page", str(ONE)), ("scores_page", str(TWO))]
    # The consumer's own task reads the day.
    task = consumers["scores_page"].get_task("refresh")
    assert task.python_callable(partition_key=str(TWO)) == f"scores of {TWO}"


def test_a_night_that_fails_announces_nothing(lake, consumers):
    first = len(events())
    assert str(run_day("2026-10-20").state) == "failed"
    assert events()[first:] == []
    assert started() == []


def test_the_asset_is_named_alike_in_the_readme_and_the_dag():
    """Airflow knows an asset by both its name and its URI."""
    import nightly_verification

    readme = Path(ROOT / "README.md").read_text("utf-8")
    asset = nightly_verification.published_day
    assert f'Asset("{asset.name}", uri="{asset.uri}")' in readme
