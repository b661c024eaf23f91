"""Airflow for tests: a home of its own, set before Airflow is first imported, the DAG read anew, what its runs did.

Importing this skips the module that does where Airflow is not installed.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

import pytest

if importlib.util.find_spec("airflow") is None:
    pytest.skip("Airflow is not installed: pip install -c constraints.txt -e '.[airflow]'", allow_module_level=True)

ROOT = Path(__file__).parents[2]
HOME = tempfile.TemporaryDirectory(prefix="airflow-home-")
ENVIRONMENT = {
    "AIRFLOW_HOME": HOME.name, "AIRFLOW__CORE__LOAD_EXAMPLES": "False", "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
    "AIRFLOW__CORE__UNIT_TEST_MODE": "False", "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "dags" / "plugins"),
}  # fmt: skip
if "airflow" in sys.modules:
    pytest.skip("Airflow was imported already, with another AIRFLOW_HOME", allow_module_level=True)
os.environ.update(ENVIRONMENT)
# Airflow puts the folder of its DAGs there, for what a DAG file imports from beside it.
sys.path.append(str(ROOT / "dags"))

DAG_ID = "nightly_verification"
ORDER = ["pull", "plan", "verify", "publish", "standings", "late", "report"]


def loaded(retries: int | None = None):
    """The DAG, read again: ``dag.test()`` leaves its parameters in the one that it ran.  ``retries`` in place of its own."""
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag(str(ROOT / "dags"))
    assert bag.import_errors == {}
    dag = bag.dags[DAG_ID]
    for task in dag.tasks if retries is not None else ():
        task.retries = retries
    return dag


def run_day(day: object, retries: int | None = 0, **conf: object):
    """A run of the DAG for a day, by hand, in this process."""
    return loaded(retries).test(run_conf={"day": str(day), **conf})


def states(run) -> dict[str, set[str]]:
    """The states of a run's tasks by name; a mapped one has several."""
    found: dict[str, set[str]] = {}
    for instance in run.get_task_instances():
        found.setdefault(instance.task_id, set()).add(str(instance.state))
    return found
