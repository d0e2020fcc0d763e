# Only python3 (>= 3.11, with venv) and make are needed. Every target works twice, also in a path with spaces.
PYTHON ?= python3
PIP_FLAGS := --quiet --disable-pip-version-check

.PHONY: help report test lint types contract unit lock clean

help:
	@echo "make report   build the bundled study's report, offline"
	@echo "make test     lint, types, import contract and tests"
	@echo "make lock     resolve requirements.lock and requirements-dev.lock anew"
	@echo "make clean    remove .venv and caches"

report: .venv/core
	.venv/bin/python build_report.py studies/smollm2-raft-pilot --offline

test: lint types contract unit

lint: .venv/dev
	.venv/bin/python -m ruff check .
	.venv/bin/python -m ruff format --check .

types: .venv/dev
	.venv/bin/python -m mypy

contract: .venv/dev
	.venv/bin/lint-imports --no-cache

unit: .venv/dev
	.venv/bin/python -m pytest -n 2 -q

.venv/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'beforehand needs Python 3.11 or newer')"
	$(PYTHON) -m venv .venv

# A stamp is written last, so that an interrupted install is done again.
.venv/core: requirements.lock pyproject.toml | .venv/bin/python
	.venv/bin/python -m pip install $(PIP_FLAGS) --require-hashes -r requirements.lock
	.venv/bin/python -m pip install $(PIP_FLAGS) --no-deps --no-build-isolation -e .
	@touch .venv/core

.venv/dev: requirements-dev.lock .venv/core
	.venv/bin/python -m pip install $(PIP_FLAGS) --require-hashes -r requirements-dev.lock
	@touch .venv/dev

lock:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install $(PIP_FLAGS) pip-tools
	.venv-lock/bin/python -m piptools compile $(LOCK_FLAGS) --extra build -o requirements.lock pyproject.toml
	.venv-lock/bin/python -m piptools compile $(LOCK_FLAGS) --extra build --extra dev -c requirements.lock -o requirements-dev.lock pyproject.toml
	rm -rf .venv-lock

LOCK_FLAGS := --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	--strip-extras --allow-unsafe --no-header

clean:
	rm -rf .venv .venv-lock .mypy_cache .ruff_cache .pytest_cache .hypothesis
