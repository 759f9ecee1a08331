"""A real JupyterLab with a headless Chromium in front of it: start it, open a notebook, run it, look at it.

Shared by the journeys and by ``python -m tests.browser.screenshots``. Needs Debian's ``chromium`` (or the
path in ``CHROMIUM``); Playwright downloads nothing. Only 127.0.0.1 can be reached from the page.
"""

import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import sync_playwright

REPOSITORY = Path(__file__).resolve().parents[2]
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
CHROMIUM_OPTIONS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
# ipywidgets 8 draws sliders with noUiSlider, ipywidgets 7 with jQuery UI.
SLIDER_HANDLE = ".widget-slider :is(.noUi-handle, .ui-slider-handle)"
# Said on the console, and none of a lesson's business:
HARMLESS = re.compile(
    "reading 'Queue'"  # ipywidgets 7 in JupyterLab 4 finds no MathJax 2
    "|restore the debugger state"  # JupyterLab, as a kernel restarts
)


@dataclass
class Lab:
    """A running server. ``root`` is the folder it serves, ``home`` where answers' progress is written."""

    url: str
    token: str
    root: Path
    home: Path
    scratch: Path


@contextmanager
def start_lab(root):
    """Serve the folder ``root`` and give a :class:`Lab`; settings, kernels and progress live in a scratch
    folder that is removed at the end. Raises RuntimeError with the server's log if it does not start."""
    scratch = Path(tempfile.mkdtemp(prefix="amp-lessons-lab-"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = Lab(f"http://127.0.0.1:{port}", secrets.token_hex(16), Path(root), scratch / "home", scratch)
    settings = scratch / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    # The news pop-up reaches for the network and covers the page.
    quiet = '{"fetchNews": "false", "checkForUpdates": false}'
    (settings / "notification.jupyterlab-settings").write_text(quiet)
    log = scratch / "lab.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1",
             f"--port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={running.token}",
             f"--ServerApp.root_dir={running.root}", "--LabApp.extension_manager=readonly",
             "--LabApp.expose_app_in_browser=True"],  # gives window.jupyterapp: the only sound ready check
            env=_environment(scratch, running.home), stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    try:
        _wait_for(f"{running.url}/api?token={running.token}", process, log)
        yield running
    finally:
        _stop(process)
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def open_browser(lab, width=1280, height=1000, scale=1.0):
    """A browser page, and the list that collects what goes wrong in it: console errors, and every request
    that tries to leave this machine (it is stopped)."""
    problems = []

    def stop_request(route):
        problems.append(f"tried to reach {route.request.url}")
        route.abort()

    def read_console(message):
        if message.type == "error" and not HARMLESS.search(message.text):
            problems.append(message.text)

    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(lab.scratch / "profile"), executable_path=CHROMIUM, headless=True, args=CHROMIUM_OPTIONS,
            viewport={"width": width, "height": height}, device_scale_factor=scale,
        )  # fmt: skip
        context.route(re.compile(r"^https?://(?!127\.0\.0\.1[:/])"), stop_request)
        page = context.pages[0]
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: HARMLESS.search(str(error)) or problems.append(str(error)))
        page.on("console", read_console)
        try:
            yield page, problems
        finally:
            context.close()


def open_notebook(page, lab, name):
    """Open the notebook ``name`` and wait until its kernel is connected and idle; gives its panel."""
    page.goto(f"{lab.url}/lab/workspaces/journey/tree/{name}?reset&token={lab.token}")
    panel = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
    panel.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=60_000)
    # The toolbar says "idle" before there is a kernel, and "Run All" would then ask for one: ask the session.
    page.evaluate("""async () => { const { context } = window.jupyterapp.shell.currentWidget;
                                   await context.ready; await context.sessionContext.ready; }""")
    wait_for_idle_kernel(page)
    return panel


def wait_for_idle_kernel(page, timeout=60_000):
    """Wait until the kernel of the notebook in front is connected and has nothing left to do."""
    page.wait_for_function(
        """() => { const session = window.jupyterapp.shell.currentWidget?.context?.sessionContext?.session;
                   const kernel = session?.kernel;
                   return kernel && kernel.connectionStatus === 'connected' && kernel.status === 'idle'; }""",
        timeout=timeout,
    )


def run_all(page, may_fail=(), timeout=400_000):
    """Run > Run All Cells, and wait for the end. Gives the errors as ``{cell index: text}``; cells whose
    index stands in ``may_fail`` (those tagged raises-exception) do not end the wait."""
    page.locator(".lm-MenuBar-item >> text=/^Run$/").click()
    page.locator('.lm-Menu-item[data-command="runmenu:run-all"]').click()
    page.wait_for_function(
        """(mayFail) => {
            const cells = window.jupyterapp.shell.currentWidget.content.widgets;
            const failed = (cell) => cell.model.sharedModel.outputs.some(o => o.output_type === 'error');
            const code = cells.map((cell, i) => [cell, i]).filter(([cell]) => cell.model.type === 'code');
            const prompt = (cell) => cell.node.querySelector('.jp-InputPrompt').textContent.trim();
            const done = ([cell]) => /^\\[\\d+\\]:$/.test(prompt(cell));
            return code.every(done) || code.some(([cell, i]) => failed(cell) && !mayFail.includes(i));
        }""",
        arg=list(may_fail), timeout=timeout,
    )  # fmt: skip
    wait_for_idle_kernel(page)
    page.wait_for_timeout(500)  # widgets draw a moment after the kernel is done
    return {i: text for i, (error, text) in enumerate(cell_messages(page)) if error}


def cell_messages(page):
    """For every cell ``(traceback, stderr text)``, both "" where nothing went wrong."""
    return page.evaluate(
        """() => window.jupyterapp.shell.currentWidget.content.widgets.map(cell => {
            if (cell.model.type !== 'code') return ['', ''];
            const outputs = cell.model.sharedModel.toJSON().outputs;
            const text = (kept, field) => outputs.filter(kept).map(o => [o[field]].flat().join('')).join('');
            const errors = outputs.filter(o => o.output_type === 'error');
            return [errors.map(o => o.ename + ': ' + o.evalue).join('\\n'),
                    text(o => o.output_type === 'stream' && o.name === 'stderr', 'text')]; })"""
    )


def cells_that_may_fail(notebook):
    """Indices of the cells tagged raises-exception in the notebook file ``notebook``."""
    cells = json.loads(Path(notebook).read_text(encoding="utf-8"))["cells"]
    return [i for i, cell in enumerate(cells) if "raises-exception" in cell["metadata"].get("tags", ())]


def use_dark_theme(page):
    """Settings > Theme > JupyterLab Dark. The server keeps it, also for the next page."""
    _use_theme(page, "Dark")


def use_light_theme(page):
    """Settings > Theme > JupyterLab Light."""
    _use_theme(page, "Light")


def _use_theme(page, name):
    page.locator(".lm-MenuBar-item >> text=/^Settings$/").click()
    page.locator(".lm-Menu-item >> text=/^Theme$/").hover()
    page.locator(f".lm-Menu-item >> text=/^JupyterLab {name}$/").click()
    is_light = "true" if name == "Light" else "false"
    page.wait_for_function(f"() => document.body.dataset.jpThemeLight === '{is_light}'")
    page.wait_for_timeout(500)


def _environment(scratch, home):
    """This process's environment with every folder that Jupyter, matplotlib and the lessons write to moved
    into ``scratch``, and the repository importable."""
    path = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
    return dict(
        os.environ, PYTHONPATH=path, AMP_LESSONS_HOME=str(home),
        JUPYTER_CONFIG_DIR=f"{scratch}/config", JUPYTER_DATA_DIR=f"{scratch}/data",
        JUPYTER_RUNTIME_DIR=f"{scratch}/runtime", JUPYTERLAB_SETTINGS_DIR=f"{scratch}/settings",
        JUPYTERLAB_WORKSPACES_DIR=f"{scratch}/workspaces", IPYTHONDIR=f"{scratch}/ipython",
        MPLCONFIGDIR=f"{scratch}/matplotlib",
    )  # fmt: skip


def _wait_for(address, process, log, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except (urllib.error.URLError, OSError):
            if process.poll() is not None:
                break
            time.sleep(0.25)
    raise RuntimeError(f"JupyterLab did not start. Its log:\n{log.read_text()}")


def _stop(process):
    """End the server and its kernels: the process group that was started here, and nothing else."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, how)
            process.wait(10)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
