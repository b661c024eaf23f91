"""Processes that a cluster is made of: started in sessions of their own, watched, killed as a machine that loses power, all stopped."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


class ClusterError(Exception):
    """The run did not show what it is there to show; one sentence says what."""


@dataclass(frozen=True)
class Service:
    """One started program and the file that its output goes to."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def tree(self) -> list[int]:
        """Ids of the program's processes, its own first; none once it has ended, as the id may be another's by then."""
        return [self.process.pid, *descendants(self.process.pid)] if self.process.poll() is None else []

    def signal_all(self, number: int) -> None:
        for pid in self.tree():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def lose_power(self) -> None:
        """SIGKILL to every process of it; returns when none is left.

        They are stopped first: one that lived a moment longer than its children would tell others that they died.
        """
        pids = self.tree()
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            pids = sorted({*pids, *self.tree()})
        self.process.wait()
        wait_until(lambda: not any(map(alive, pids)), f"the processes of {self.name} are gone", 10)


class Services:
    """The programs of one run.  ``stop`` ends them and whatever they started, also what went into a session of its own."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._started: list[Service] = []
        logs.mkdir(parents=True, exist_ok=True)
        # Orphans of a program that dies become our children, and can be found, whatever they did to leave its group.
        if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")

    def start(
        self, name: str, command: Sequence[str], env: Mapping[str, str], user: str | None = None, stdin: bytes | None = None
    ) -> Service:
        log = self._logs / f"{name}.log"
        with log.open("ab") as out:
            process = subprocess.Popen(
                command, env=env, stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE, stdout=out, stderr=out,
                start_new_session=True, user=user, group=user, extra_groups=None if user is None else [],
            )  # fmt: skip
        service = Service(name, process, log)
        self._started.append(service)
        if stdin is not None and process.stdin is not None:
            process.stdin.write(stdin)
            process.stdin.close()
        return service

    def check(self, killed: Iterable[Service] = ()) -> None:
        """Raises ClusterError when a program has ended that nobody killed."""
        for service in self._started:
            status = service.process.poll()
            if status is not None and service not in killed:
                raise ClusterError(f"{service.name} ended with status {status} while it was needed")

    def stop(self, last: Sequence[Service] = ()) -> None:
        """End all programs, ``last`` after the others, and return when no process is left."""
        for service in self._started:
            if service not in last:
                service.signal_all(signal.SIGTERM)
        kept = {pid for service in last for pid in service.tree()}
        _wait_for_end(kept, 5)
        _kill_all(kept)
        for service in last:
            with suppress(ProcessLookupError):
                # PostgreSQL: let sessions end no matter who is connected, and give shared memory back.
                service.process.send_signal(signal.SIGINT)
        _wait_for_end(set(), 15)
        _kill_all(set())


def _kill_all(kept: set[int]) -> None:
    # A process that is killed may have been about to start another.
    while pids := [pid for pid in descendants(os.getpid()) if pid not in kept]:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _reap()
        time.sleep(0.05)


def _wait_for_end(kept: set[int], seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        _reap()
        if not [pid for pid in descendants(os.getpid()) if pid not in kept]:
            return
        time.sleep(0.1)


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def alive(pid: int) -> bool:
    """Whether a process of that id runs; one that has ended and was not waited for does not."""
    return _stat(pid)[0] not in ("", "Z", "X")


def descendants(pid: int) -> list[int]:
    """Ids of the running processes below one, parents first."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            state, parent = _stat(int(entry))
            if state not in ("", "Z", "X"):
                children.setdefault(parent, []).append(int(entry))
    found, todo = [], [pid]
    while todo:
        below = children.get(todo.pop(0), [])
        found += below
        todo += below
    return found


def _stat(pid: int) -> tuple[str, int]:
    """(state, id of the parent); an empty state for a process that is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return "", 0
    # The name, in parentheses, may hold anything.
    state, parent = text.rpartition(")")[2].split()[:2]
    return state, int(parent)


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_until(done: Callable[[], bool], what: str, seconds: float, every: float = 0.2) -> None:
    """Raises ClusterError when ``done`` has not become true in time."""
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise ClusterError(f"waited {seconds:.0f} seconds for this: {what}")
        time.sleep(every)
