#!/usr/bin/env bash
# Airflow on several machines, all of them on this one: a month is verified by two Celery workers, one of which is killed in the
# middle of a shard, and what is published is compared with the nights of one machine.
#
#   tests/cluster/run.sh [BIN] [OPTIONS]     BIN: the folder with airflow and replay, .venv/bin unless given
#
# Needs redis-server and postgresql of Debian.  OPTIONS: see --help.  Everything listens on 127.0.0.1 with free ports and lies in one
# temporary folder; when it ends, however it ends, neither a process nor a file is left.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$root/.venv/bin
if [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; then
    bin=$(cd "$1" && pwd)
    shift
fi
for program in redis-server initdb; do
    if ! command -v "$program" >/dev/null && ! ls /usr/lib/postgresql/*/bin/"$program" >/dev/null 2>&1; then
        echo "$program is not installed here: apt-get update && apt-get install -y redis-server postgresql" >&2
        exit 2
    fi
done
cd "$root"
export PATH=$bin:$PATH
export PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH}
exec "$bin/python" -m tests.cluster "$@"
