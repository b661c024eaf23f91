"""An Airflow connection as the source of logs: the one place that knows how both name things.

``REPLAY_SOURCE_CONN`` in the environment of the workers names the connection. Its extra may hold ``url``, the place with
``{day}`` in it (else ``REPLAY_SOURCE`` names it), and ``storage_options``, fsspec's own, which win over what follows from the
other fields:

- type ``aws``: login and password are key and secret, extra ``endpoint_url``, ``region_name`` and ``aws_session_token`` as usual;
  with neither login nor password the worker's own credentials are used;
- type ``http``: login and password go out as basic authentication;
- any other type (``generic``): ``url`` and ``storage_options`` alone.

It is read when a task runs and goes to replay as arguments: nothing of it stands in an XCom, and Airflow masks it in logs.
"""

from __future__ import annotations

import base64
import os
from typing import Any

from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowFailException


def night_source() -> dict[str, Any]:
    """``source`` and ``source_options`` for replay's tasks; nothing without REPLAY_SOURCE_CONN, when settings alone decide.

    Raises AirflowFailException for a connection that names no place; one that is missing is Airflow's AirflowNotFoundException.
    """
    name = os.environ.get("REPLAY_SOURCE_CONN")
    if not name:
        return {}
    connection = Connection.get(name)
    extra = connection.extra_dejson
    url = extra.get("url") or os.environ.get("REPLAY_SOURCE")
    options = extra.get("storage_options", {})
    if not isinstance(url, str) or not url:
        raise AirflowFailException(
            f"the connection {name} does not say where logs are: put url into its extra, or set REPLAY_SOURCE beside it"
        )
    if not isinstance(options, dict):
        raise AirflowFailException(f"storage_options in the extra of the connection {name} are no object: write {{...}}")
    return {"source": url, "source_options": {**_options(connection, extra), **options}}


def _options(connection: Any, extra: dict[str, Any]) -> dict[str, Any]:
    """Storage options that follow from a connection's own fields."""
    if connection.conn_type == "aws":
        region = extra.get("region_name") or extra.get("region")
        found = {
            "key": connection.login, "secret": connection.password, "token": extra.get("aws_session_token"),
            "endpoint_url": extra.get("endpoint_url"), "client_kwargs": {"region_name": region} if region else None,
        }  # fmt: skip
        return {field: value for field, value in found.items() if value}
    if connection.conn_type in ("http", "https") and connection.login:
        pair = f"{connection.login}:{connection.password or ''}".encode()
        return {"headers": {"Authorization": f"Basic {base64.b64encode(pair).decode('ascii')}"}}
    return {}
