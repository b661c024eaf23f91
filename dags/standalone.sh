#!/usr/bin/env bash
# Airflow on this machine alone, with the DAG of this folder and a day of simulated uploads to try it on.
#
#   dags/standalone.sh [BIN]     BIN: the folder with airflow and replay, .venv/bin unless given
#
# Everything it writes is below .airflow/: AIRFLOW_HOME, and the lake unless REPLAY_LAKE names another.  It listens on 127.0.0.1
# only (REPLAY_AIRFLOW_PORT, 8080).  Ctrl-C or SIGTERM stops it with all that it started.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
bin=$(cd "${1:-.venv/bin}" && pwd)
port=${REPLAY_AIRFLOW_PORT:-8080}
# The day of the newest 02:00 run: the scheduler starts that one by itself, and finds its files landed.
demo_day=${REPLAY_DEMO_DAY:-$(date -u -d '26 hours ago' +%F)}

export AIRFLOW_HOME=$root/.airflow
export AIRFLOW__CORE__DAGS_FOLDER=$root/dags
export AIRFLOW__CORE__PLUGINS_FOLDER=$root/dags/plugins
export AIRFLOW__CORE__LOAD_EXAMPLES=False
export AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION=False
# Each of so many workers is a process that waits for work; the default of 32 takes 5 GB.
export AIRFLOW__CORE__PARALLELISM=${AIRFLOW__CORE__PARALLELISM:-4}
# The three belong together: where the server listens, how a browser finds it, how tasks do.
export AIRFLOW__API__HOST=127.0.0.1
export AIRFLOW__API__PORT=$port
export AIRFLOW__API__BASE_URL=http://127.0.0.1:$port
export AIRFLOW__CORE__EXECUTION_API_SERVER_URL=http://127.0.0.1:$port/execution/
export PATH=$bin:$PATH
export PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH}
export REPLAY_LAKE=${REPLAY_LAKE:-$AIRFLOW_HOME/lake}
export REPLAY_THREADS=${REPLAY_THREADS:-1}

mkdir -p "$AIRFLOW_HOME"
if [ ! -d "$REPLAY_LAKE/logs" ]; then
    # Aside first: a simulation that is cut off must not be taken for a landed day.
    rm -rf "$AIRFLOW_HOME/landing"
    mkdir -p "$AIRFLOW_HOME/landing" "$REPLAY_LAKE"
    "$bin/python" -m replay simulate --lake "$AIRFLOW_HOME/landing" --day "$demo_day" --games 20000
    mv "$AIRFLOW_HOME/landing/"* "$REPLAY_LAKE/"
    rmdir "$AIRFLOW_HOME/landing"
fi

# A group of its own: SIGTERM to `airflow standalone` alone leaves its scheduler and their workers running.
setsid "$bin/airflow" standalone &
group=$!

stop() {
    trap - EXIT
    trap '' INT TERM
    kill -TERM -- "-$group" 2>/dev/null || true
    for _ in $(seq 60); do
        kill -0 -- "-$group" 2>/dev/null || return 0
        sleep 0.5
    done
    kill -KILL -- "-$group" 2>/dev/null || true
}
trap 'stop; exit 0' INT TERM
trap stop EXIT

cat <<TEXT

Airflow starts at http://127.0.0.1:$port, in about half a minute.
The user is admin; the password stands in $AIRFLOW_HOME/simple_auth_manager_passwords.json.generated
The lake is $REPLAY_LAKE.  The night of $demo_day runs by itself; for another day trigger nightly_verification
with the parameter day, or: replay simulate --lake $REPLAY_LAKE --day DAY  to land one.
Nights, flagged games and decisions about them: "Replay ops" in the navigation, or http://127.0.0.1:$port/ops/
Ctrl-C stops it.

TEXT
wait "$group"
