"""Style sheets and scripts: files of fixed names, each with its hash in its address, so that a browser keeps it for ever."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response

router = APIRouter()
STATIC = Path(__file__).parent / "static"
_KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_FOR_EVER = "private, max-age=31536000, immutable"


@dataclass(frozen=True)
class Asset:
    """A file as it is served; ``version`` is a hash of its bytes."""

    data: bytes
    kind: str
    version: str


@cache
def assets() -> dict[str, Asset]:
    """All of them by name: the files that came with the program, read once."""
    found = {}
    for path in sorted(STATIC.iterdir()):
        if path.suffix in _KINDS:
            data = path.read_bytes()
            found[path.name] = Asset(data, _KINDS[path.suffix], hashlib.sha256(data).hexdigest()[:16])
    return found


def address(name: str) -> str:
    """The relative link to an asset, for templates.  Raises KeyError for a name that there is none of."""
    return f"static/{name}?v={assets()[name].version}"


# A route, not a mounted folder: a mount would answer without asking who is there.
@router.get("/static/{name}")
def static(request: Request, name: str) -> Response:
    """One asset."""
    found = assets().get(name)
    if found is None:
        raise HTTPException(404, "there is no such file")
    return kept(request, found.data, found.kind, found.version)


def kept(request: Request, data: bytes, kind: str, version: str) -> Response:
    """An answer that a browser keeps: for ever under the address of this ``version`` (parameter v), else until it has asked."""
    named = request.query_params.get("v") == version
    headers = {"etag": f'"{version}"', "cache-control": _FOR_EVER if named else "private, no-cache"}
    if f'"{version}"' in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(data, media_type=kind, headers=headers)
