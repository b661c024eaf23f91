# Everything is set up by itself: the first target that needs it makes .venv and installs the versions of constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: airflow cluster dashboard demo fuzz kills messages mutation test test-browser test-dags check lint types layers bench twin twin-blocks twin-tetromino twin-tetcolor clean

demo: $(STAMP)  ## three days of simulated uploads, verified and held against the truth
	$(BIN)/replay demo --fresh

# The lake of the pages; the demo's unless another one is named.
LAKE ?= demo-lake

dashboard: $(STAMP)  ## the ops pages over the demo's lake, which is made when there is none; Ctrl-C stops them
	test "$(LAKE)" != demo-lake || test -e demo-lake/warehouse/CURRENT || $(BIN)/replay demo --fresh
	$(BIN)/replay dashboard --lake "$(LAKE)"

# One more than there are cores: many tests wait for processes of their own.  In the order of folders: browsers and Airflow, where a
# file takes a minute or two, come first, so that no worker is left alone with one at the end.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

test: $(STAMP)  ## all tests; those that need Airflow, a browser or a server that is not installed say so and are skipped
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

check: lint types layers test  ## what must be clean before a change lands

lint: $(STAMP)
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy

layers: $(STAMP)
	$(BIN)/lint-imports

messages: $(STAMP)  ## the catalogues of what players are told, brought up to date with the source; says what is left to translate
	$(BIN)/python -m tests.messages

bench: $(STAMP)  ## the figures, one table
	$(BIN)/python -m benchmarks

# Names or areas of defects and other options of the run, e.g. MUTATION="--only marts --jobs 2".
MUTATION ?=

mutation: $(STAMP)  ## deliberate defects, planted one at a time, and who notices each; fails when one survives (tests/mutation/README.md)
	$(BIN)/python -m tests.mutation $(MUTATION)

# Games of Tetromino Arcade and of Tetcolor each; their twins are a hundred times slower than the block puzzle's.
TWIN ?= 20000
BLOCKS ?= 100000

twin: twin-blocks twin-tetromino twin-tetcolor  ## kernels, interpreted engines and slow twins: 100,000 games of the block puzzle, 20,000 of each other

twin-blocks: $(STAMP)
	REPLAY_TWIN_GAMES=$(BLOCKS) $(BIN)/pytest tests/engine/test_blocks_twin.py

twin-tetromino twin-tetcolor: twin-%: $(STAMP)
	REPLAY_TWIN_GAMES=$(TWIN) $(BIN)/pytest tests/engine/test_$*_twin.py

# How long to fuzz, and the seed of an earlier run, which it printed, e.g. FUZZ_SECONDS=600 FUZZ_SEED=17.
FUZZ_SECONDS ?= 600
FUZZ_SEED ?=

fuzz: $(STAMP)  ## broken records, logs and files, for as long as FUZZ_SECONDS says; what fails is kept in tests/fuzz/found/
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))

# Processes that are killed, and the seed of their moments.
KILLS ?= 200
KILL_SEED ?= 1

kills: $(STAMP)  ## nights over several days killed at any moment, KILLS times, each run again and compared
	REPLAY_KILLS=$(KILLS) REPLAY_KILL_SEED=$(KILL_SEED) $(BIN)/pytest -s tests/replay/test_kills_over_days.py

airflow: $(VENV)/.airflow  ## Airflow on this machine alone, the DAG unpaused, a simulated day landed; Ctrl-C stops it
	dags/standalone.sh $(BIN)

test-dags: $(VENV)/.airflow  ## the DAG's tests, with Airflow
	$(BIN)/pytest tests/dags

test-browser: $(VENV)/.browser $(VENV)/.airflow  ## the ops pages in a real browser, by themselves and inside Airflow; needs chromium
	REPLAY_REQUIRE_BROWSER=1 $(BIN)/pytest tests/browser tests/dags/test_ops_browser.py

cluster: $(VENV)/.cluster  ## Celery on this machine: a month, a worker killed in mid-shard, compared; needs redis-server and postgresql
	tests/cluster/run.sh $(BIN) $(CLUSTER)

$(VENV)/.airflow: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[airflow]'
	touch $@

$(VENV)/.browser: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[browser]'
	touch $@

$(VENV)/.cluster: $(VENV)/.airflow
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[cluster]'
	touch $@

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) .airflow demo-lake bench-data .pytest_cache .mypy_cache .ruff_cache .hypothesis
