# Every target installs what it needs into .venv; PYTHON chooses the interpreter that makes it (3.11 or later).
PYTHON ?= python3
ARGS ?=

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip -q --disable-pip-version-check
# The installed sets, as stamp files inside the virtualenv, so that removing it forgets them too.
BASE := $(VENV)/.made
DEMO := $(VENV)/.installed-demo
DEV := $(VENV)/.installed-dev
BROWSER := $(VENV)/.looked-for-a-browser
POSTGRESQL := $(VENV)/.looked-for-postgresql
SPARK := $(VENV)/.looked-for-spark
COVERAGE := $(VENV)/.installed-coverage
DOCS := $(VENV)/.installed-docs
RELEASE := $(VENV)/.installed-release
LOCK := requirements-dev.lock
SITE := build/site
# Environments of their own, with the oldest versions that pyproject.toml allows and with the newest that there are.
OLDEST := .venv-oldest
NEWEST := .venv-newest

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test test-services test-oldest check format bench calibrate fuzz coverage mutants lock docs package paper paper-quick clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile

demo: $(DEMO)  ## install, compare two built-in tables, write demo-report.html
	$(VENV)/bin/densdiff demo $(ARGS)

# A picture in a test must not need a screen. One worker for each core, at most 4: each collects all tests by itself.
test: $(DEV)  ## install and run the tests, ARGS="-k swap" for some of them
	MPLBACKEND=Agg $(PY) -m pytest -n auto --maxprocesses=4 --dist=worksteal -m "not slow and not service" $(ARGS)

# In one process: each worker of pytest would start a cluster of its own.
test-services: $(DEV) $(BROWSER) $(POSTGRESQL) $(SPARK)  ## run the tests that start a browser, a Dask cluster, Spark or PostgreSQL
	MPLBACKEND=Agg $(PY) -m pytest -n 0 -m service tests $(ARGS)

# Deprecations of old packages among themselves are not ours, nor what NumPy 2.0 leaves open on a full disk; scikit-learn's own checks
# change with its version.
test-oldest: $(OLDEST)/.made  ## run the tests with the oldest versions of what the package needs
	MPLBACKEND=Agg $(OLDEST)/bin/python -m pytest -n auto --maxprocesses=4 --dist=worksteal tests \
		-W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning \
		-W ignore::pytest.PytestUnraisableExceptionWarning -k "not own_checks and not command_is_light" \
		--ignore=tests/paper --ignore=tests/estimators/test_scikit_learn.py --ignore=tests/calibration $(ARGS)

check: $(DEV)  ## formatting, lint, types and the direction of imports
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports --no-logo

format: $(DEV)  ## format the code and repair what ruff can repair
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

bench: $(DEV)  ## measure against every peer and write benchmarks/results.md, ARGS="speed" for one part, --quick for a look
	$(PY) -m benchmarks $(ARGS)

calibrate: $(DEV)  ## run the statistical simulations in full and write docs/calibration.md; ARGS=--quick for a look
	$(PY) -m tests.calibration $(ARGS)

fuzz: $(DEV)  ## damaged files to readers and saved states for ten minutes, ARGS="--minutes 1 state" for less
	$(PY) -m tests.fuzz $(ARGS)

coverage: $(COVERAGE)  ## branch coverage of core and of the rooms from sources up to comparing, at least 97 %; on one core
	MPLBACKEND=Agg $(PY) -m coverage run -m pytest -n 0 -q $(ARGS)
	$(PY) -m coverage combine -q
	$(PY) -m coverage report

mutants: $(DEV)  ## change lines of core and see whether its tests notice, ARGS="ridge --most 0" for all of a module
	$(PY) -m tests.mutation $(ARGS)

lock:  ## write the versions of a fresh installation into requirements-dev.lock
	rm -rf $(NEWEST)
	$(PYTHON) -m venv $(NEWEST)
	$(NEWEST)/bin/python -m pip -q install --upgrade "pip>=25.1"
	$(NEWEST)/bin/python -m pip -q install -e ".[all]" --group dev --group docs --group release
	$(NEWEST)/bin/python -m pip list --format=freeze --exclude-editable --exclude pip --exclude setuptools >$(LOCK)
	rm -rf $(NEWEST)

# Three steps: the pages with their examples, the links between them, the examples in text. SITE may be opened as it is, without a server.
docs: $(DOCS)  ## build the site into build/site, warnings as errors, and check its links and every example
	$(PY) -m sphinx -W --keep-going -n -q -b html -d build/doctrees docs $(SITE) $(ARGS)
	$(PY) docs/check_site.py $(SITE)
	MPLBACKEND=Agg $(PY) -m pytest -q -n auto --maxprocesses=4 --doctest-glob="*.md" docs src

# As a stranger gets it: the same bytes for the same commit, and in an environment that holds nothing else the README's lines.
package: $(RELEASE)  ## build wheel and sdist into dist, check them, the types and the repository, and try the wheel by itself
	rm -rf dist build/clean
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || echo 1700000000) $(PY) -m build --no-isolation
	$(PY) -m twine check --strict dist/*
	$(VENV)/bin/check-wheel-contents dist
	$(VENV)/bin/validate-pyproject pyproject.toml
	$(VENV)/bin/sp-repo-review .
	$(VENV)/bin/basedpyright --level error tests/typing
	$(PYTHON) -m venv build/clean
	build/clean/bin/python -m pip -q --disable-pip-version-check install dist/*.whl
	build/clean/bin/python -c 'import re; exec(re.search(r"```python\n(.*?)```", open("README.md").read(), re.S)[1])'
	@ls -l dist

paper: $(DEV)  ## reproduce the paper in full into paper-out, DATA=folder for its data sets; some hours
	$(PY) -m paper --out paper-out $(if $(DATA),--data $(DATA)) $(ARGS)

paper-quick: $(DEV)  ## the same with few runs, in minutes
	$(PY) -m paper --out paper-quick-out --runs 4 $(if $(DATA),--data $(DATA)) $(ARGS)

clean:  ## remove .venv, caches, builds and the demo's output
	rm -rf $(VENV) $(OLDEST) $(NEWEST) build dist demo-report.html paper-out paper-quick-out fuzz-out .coverage .coverage.*
	rm -rf docs/generated
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks paper -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# --group needs pip 25.1, newer than the one many Pythons bring along.
$(BASE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "densdiff needs Python 3.11 or later, this is " + sys.version.split()[0] + "; choose another with make PYTHON=...")'
	@$(PY) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --upgrade "pip>=25.1"
	@touch $@

$(DEMO): pyproject.toml | $(BASE)
	@echo "Installing densdiff[cli,plot] into $(VENV) ..."
	@$(PIP) install -e ".[cli,plot]"
	@touch $@

# The report is looked at in a browser: Debian's, installed where that is possible; else those tests say why they are skipped.
$(BROWSER): | $(BASE)
	@command -v chromium chromium-browser google-chrome >/dev/null 2>&1 || [ "$$(id -u)" != 0 ] || \
		timeout 150 sh -c 'apt-get install -y -qq chromium || { apt-get update -qq && apt-get install -y -qq chromium; }' \
		>/dev/null 2>&1 || true
	@touch $@

# The same for a database: Debian's PostgreSQL, of which the tests start a server of their own.
$(POSTGRESQL): | $(BASE)
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 || [ "$$(id -u)" != 0 ] || \
		timeout 150 sh -c 'apt-get install -y -qq postgresql || { apt-get update -qq && apt-get install -y -qq postgresql; }' \
		>/dev/null 2>&1 || true
	@touch $@

# Spark needs Java; without either its tests say why they are skipped.
$(SPARK): $(DEV)
	@command -v java >/dev/null 2>&1 || [ "$$(id -u)" != 0 ] || timeout 150 sh -c \
		'apt-get install -y -qq default-jre-headless || { apt-get update -qq && apt-get install -y -qq default-jre-headless; }' \
		>/dev/null 2>&1 || true
	@! command -v java >/dev/null 2>&1 || timeout 240 $(PIP) install -e ".[spark]" -c $(LOCK) >/dev/null 2>&1 || true
	@touch $@

# Another Python or platform may lack a locked version.
$(DEV): pyproject.toml $(LOCK) | $(BASE)
	@echo "Installing densdiff[all] and the development tools into $(VENV) ..."
	@$(PIP) install -e ".[all]" --group dev -c $(LOCK) || \
		{ echo "Not all versions of $(LOCK) can be had; taking others."; $(PIP) install -e ".[all]" --group dev; }
	@touch $@

$(COVERAGE): $(DEV)
	@$(PIP) install --group coverage
	@touch $@

$(RELEASE): $(DEV)
	@$(PIP) install --group release -c $(LOCK) || $(PIP) install --group release
	@touch $@

$(DOCS): $(DEV)
	@echo "Installing the tools of the site into $(VENV) ..."
	@$(PIP) install --group docs -c $(LOCK) || $(PIP) install --group docs
	@touch $@

$(OLDEST)/.made: pyproject.toml | $(BASE)
	rm -rf $(OLDEST)
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip -q install --upgrade "pip>=25.1"
	$(OLDEST)/bin/python -c 'import tomllib; about = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
		every = sum(about["optional-dependencies"].values(), about["dependencies"]); \
		print(*(one.split("[")[0] + one[one.find("]") + 1:] if "[" in one else one for one in every if ">=" in one), sep="\n")' \
		| sed 's/>=/==/' >$(OLDEST)/oldest.txt
	$(OLDEST)/bin/python -m pip -q install -e ".[cli,plot,fast,dask,sql,remote]" --group test -c $(OLDEST)/oldest.txt
	touch $@
