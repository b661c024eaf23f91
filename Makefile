# Everything is set up by itself: the first target that needs it makes .venv and installs the versions of constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: airflow cluster demo test test-dags check lint types layers bench twin clean

demo: $(STAMP)  ## three days of simulated uploads, verified and held against the truth
	$(BIN)/replay demo --fresh

test: $(STAMP)  ## all tests
	$(BIN)/pytest -n auto --dist loadfile

check: lint types layers test  ## what must be clean before a change lands

lint: $(STAMP)
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy

layers: $(STAMP)
	$(BIN)/lint-imports

bench: $(STAMP)  ## the figures, one table
	$(BIN)/python -m benchmarks

# Games of Tetromino Arcade and of Tetcolor each; their twins are a hundred times slower than the block puzzle's.
TWIN ?= 20000

twin: $(STAMP)  ## kernels, interpreted engines and slow twins on 100,000 games of the block puzzle and 20,000 of each other game
	REPLAY_TWIN_GAMES=100000 $(BIN)/pytest tests/engine/test_blocks_twin.py
	REPLAY_TWIN_GAMES=$(TWIN) $(BIN)/pytest tests/engine/test_tetromino_twin.py
	REPLAY_TWIN_GAMES=$(TWIN) $(BIN)/pytest tests/engine/test_tetcolor_twin.py

airflow: $(VENV)/.airflow  ## Airflow on this machine alone, the DAG unpaused, a simulated day landed; Ctrl-C stops it
	dags/standalone.sh $(BIN)

test-dags: $(VENV)/.airflow  ## the DAG's tests, with Airflow
	$(BIN)/pytest tests/dags

cluster: $(VENV)/.cluster  ## Celery on this machine: a month, a worker killed in mid-shard, compared; needs redis-server and postgresql
	tests/cluster/run.sh $(BIN) $(CLUSTER)

$(VENV)/.airflow: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[airflow]'
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
