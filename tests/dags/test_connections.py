"""A connection as the source of logs: what becomes of its fields, and that a run brings logs with it and shows no secret."""

from __future__ import annotations

import json

import pytest

from tests.dags.support import ORDER, run_day, states
from tests.replay.night_support import ONE, TWO, line, upload

pytestmark = pytest.mark.usefixtures("database")
NAME = "game_uploads"


@pytest.fixture
def connect(monkeypatch, environment):
    """Set the connection, as Airflow reads it from the environment, and name it as the source."""

    def connected(**held: object) -> None:
        monkeypatch.setenv(f"AIRFLOW_CONN_{NAME.upper()}", json.dumps(held))
        monkeypatch.setenv("REPLAY_SOURCE_CONN", NAME)
        monkeypatch.setenv("REPLAY_SOURCE_SETTLE", "0.05")

    return connected


def found():
    import connections

    return connections.night_source()


def test_without_a_connection_settings_decide(environment):
    assert found() == {}


def test_an_aws_connection(connect):
    extra = {"url": "s3://uploads/{day}/", "endpoint_url": "http://127.0.0.1:9000", "region_name": "eu-west-1"}
    connect(conn_type="aws", login="somebody", password="hunter2", extra=extra)
    assert found() == {
        "source": "s3://uploads/{day}/",
        "source_options": {
            "key": "somebody", "secret": "hunter2", "endpoint_url": "http://127.0.0.1:9000",
            "client_kwargs": {"region_name": "eu-west-1"},
        },
    }  # fmt: skip


def test_an_aws_connection_without_keys_leaves_them_to_the_worker(connect, monkeypatch):
    monkeypatch.setenv("REPLAY_SOURCE", "s3://uploads/{day}/")
    connect(conn_type="aws")
    assert found() == {"source": "s3://uploads/{day}/", "source_options": {}}


def test_a_generic_connection(connect):
    connect(conn_type="generic", login="nobody", extra={"url": "gs://b/{day}/", "storage_options": {"token": "anon"}})
    assert found() == {"source": "gs://b/{day}/", "source_options": {"token": "anon"}}


def test_an_http_connection(connect):
    connect(conn_type="http", login="somebody", password="hunter2", extra={"url": "https://host/{day}/"})
    assert found()["source_options"] == {"headers": {"Authorization": "Basic c29tZWJvZHk6aHVudGVyMg=="}}


@pytest.mark.parametrize(
    ("extra", "words"), [({}, "does not say where logs are"), ({"url": "s3://b/{day}", "storage_options": "x"}, "no object")]
)
def test_a_connection_that_is_not_enough_fails_without_retries(connect, extra, words):
    from airflow.sdk.exceptions import AirflowFailException

    connect(conn_type="generic", password="hunter2", extra=extra)
    with pytest.raises(AirflowFailException, match=words) as error:
        found()
    assert "hunter2" not in str(error.value)


def test_a_connection_that_is_not_there_is_airflows_error(environment, monkeypatch):
    from airflow.sdk.exceptions import AirflowNotFoundException

    monkeypatch.setenv("REPLAY_SOURCE_CONN", NAME)
    with pytest.raises(AirflowNotFoundException, match=NAME):
        found()


# --- A run ---------------------------------------------------------------------------------------------------------------


def test_a_run_brings_its_logs_over_the_connection(connect, lake, tmp_path, caplog, capfd):
    """Late files of the day before come over it too, and nothing of the connection stands in what the tasks returned."""
    (tmp_path / "landing").mkdir()
    (lake / "logs").rename(tmp_path / "landing" / "logs")
    connect(
        conn_type="generic", password="hunter2hunter2",
        extra={"url": f"{tmp_path}/landing/logs/day={{day}}", "storage_options": {"secret": "hunter3hunter3"}},
    )  # fmt: skip
    for day in (ONE, TWO):
        if day == TWO:
            (tmp_path / "landing" / "logs" / f"day={ONE}" / "late.ndjson").write_bytes(line(upload("late", "p1", ONE)) + b"\n")
        run = run_day(day)
        assert states(run) == {name: {"success"} for name in ORDER}
    pulled = run.get_task_instance("pull").xcom_pull("pull")
    assert pulled["landed"] == pulled["files"] > 0
    assert run.get_task_instance("late").xcom_pull("late") == {"restated": 1, "days": [str(ONE)], "problems": 0}
    shown = caplog.text + "".join(capfd.readouterr())
    assert "[DAG TEST]" in shown
    assert "hunter" not in shown
