# `make help` lists what there is. Everything is installed into .venv, once; nothing outside this folder changes.
PYTHON   ?= python3
CHROMIUM ?= /usr/bin/chromium
ARGS     ?=

# .ci/run gives another environment and its requirements, to test against older versions.
VENV         ?= .venv
REQUIREMENTS ?= requirements.txt

PY     := $(VENV)/bin/python
READY  := $(VENV)/.ready
PYTEST := $(PY) -m pytest
# Two files at a time, each with one thread of its own: two threads that share a core wait for each other.
TWO    := -n 2 --dist loadfile
# Tests, pages and journeys keep their progress apart from yours.
APART  := rm -rf build/throw-away; AMP_LESSONS_HOME="$(CURDIR)/build/throw-away"

.DEFAULT_GOAL := help
.PHONY: help lab test html browser colab gpu gpu-wheels
.DELETE_ON_ERROR:

help:  ## list these commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' Makefile | while IFS='|' read -r name what; do printf '  %-18s%s\n' "$$name" "$$what"; done

lab: $(READY)  ## open JupyterLab on the first lesson, in my_lessons/ (ARGS=--no-browser where there is no screen)
	@$(PY) -m amp_lessons.my_lessons notebooks my_lessons
	$(PY) -m jupyterlab --ServerApp.root_dir="$(CURDIR)/my_lessons" --LabApp.default_url=/lab/tree/00_start_here.ipynb $(ARGS)

test: $(READY)  ## unit tests, and every lesson run from top to bottom
	$(APART) OMP_NUM_THREADS=1 $(PYTEST) $(TWO) -m "not slow" tests
	$(APART) OMP_NUM_THREADS=1 $(PYTEST) $(TWO) --nbval-lax --nbval-current-env --nbval-cell-timeout=120 notebooks

html: $(READY)  ## every lesson executed, as pages to read without a kernel, in build/html/
	$(APART) $(PY) -m amp_lessons.pages notebooks build/html

browser: $(READY) html  ## walk through the lessons in a real JupyterLab in headless Chromium
	@CHROMIUM="$(CHROMIUM)" sh tests/browser/get_chromium.sh
	$(APART) CHROMIUM="$(CHROMIUM)" $(PYTEST) tests/browser

colab: $(READY)  ## self-contained lessons for Colab, in build/colab/ (REPO=owner/name adds badges to the lessons)
	$(PY) -m amp_lessons.colab notebooks build/colab $(REPO)

gpu:  ## what only a CUDA machine can show, into build/gpu/results.json; says so and stops where there is none
	@if [ ! -e $(READY) ] && $(PYTHON) -c "import torch" 2>/dev/null; then $(PYTHON) -m tests.gpu $(ARGS); \
	else $(MAKE) --no-print-directory $(READY) && $(PY) -m tests.gpu $(ARGS); fi

gpu-wheels:  ## what make gpu needs on a machine without network, into build/gpu/wheels
	$(PYTHON) -m tests.gpu.wheels $(ARGS)

# Touched last, so an interrupted installation is taken up again.
$(READY): $(REQUIREMENTS) pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "There is no $(PYTHON) here. Install Python 3.11 or newer, or name yours: make lab PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "The lessons need Python 3.11 or newer; $(PYTHON) is Python %d.%d. Name another one, for example: make lab PYTHON=python3.12" % sys.version_info[:2])'
	@echo "Installing into $(VENV): once, a few minutes."
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --disable-pip-version-check -r $(REQUIREMENTS)
	$(PY) -m pip install --disable-pip-version-check --no-deps --editable .
	@touch $@
