"""``replay dashboard``: the ops pages by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from replay.cli import common
from replay.errors import UsageError

if TYPE_CHECKING:
    import socket

    from pydantic import SecretStr

# What the extra [dashboard] brings, by the names under which they are imported.
NEEDED = ("fastapi", "uvicorn", "python_multipart", "altair", "vl_convert")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("dashboard")(dashboard)


def dashboard(
    lake: common.LakeOption,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen on.", min=1, max=65535)] = 8321,
) -> None:
    """Serve the ops pages: last night, flagged games, decisions, standings, quarantine.

    On a loopback address they are open to whoever uses this machine. Any other address needs REPLAY_DASHBOARD_TOKEN (to read and
    decide), or REPLAY_DASHBOARD_READ_TOKEN (to read only). Ctrl-C ends it.
    """
    _refuse_without_packages()
    from replay.dashboard.standalone import Tokens, check_tokens, standalone_app
    from replay.lake import open_lake

    settings = common.load_settings()
    tokens = Tokens(_plain(settings.dashboard_token), _plain(settings.dashboard_read_token))
    check_tokens(host, tokens)
    with open_lake(lake) as where:
        common.refuse_no_lake(where)
    listening = _listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    # Flushed at once: a script that waits for this line reads it through a pipe.
    typer.echo(f"Ops pages of {ascii(lake)[1:-1]}: http://{shown}:{port}/  (Ctrl-C ends them)")
    _serve(standalone_app(lake, host, port, tokens), listening)


def _plain(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()


def _refuse_without_packages() -> None:
    from importlib.util import find_spec

    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        names = ', '.join(missing)
        raise UsageError(f"the ops pages need packages that are not here ({names}): pip install 'nightly-replay[dashboard]'")


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens; bound here, so that a port in use is one sentence.  Raises UsageError."""
    import socket

    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        raise UsageError(f"--host {host!a} is no address of this machine: {error.strerror}") from error
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise UsageError(f"--host {host} --port {port}: cannot listen there ({error.strerror}), give another --port") from error
    return listening


def _serve(app: object, listening: socket.socket) -> None:
    import uvicorn

    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, lifespan="off")  # type: ignore[arg-type]
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        # uvicorn has ended the requests that were running and hands the signal on; being stopped is how this command ends.
        return
