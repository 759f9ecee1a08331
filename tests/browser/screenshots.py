"""Pictures of a lesson as a learner sees it.

``python -m tests.browser.screenshots LESSON.ipynb OUTDIR [--dark]`` runs a copy of the notebook in a real
JupyterLab and saves one PNG per cell (``cell_07.png`` is the cell with index 7, counted from 0). Errors and
warnings that cells show are listed at the end; the exit status is 1 if a cell failed that is not tagged
raises-exception.
"""

import argparse
import shutil
import tempfile
from functools import partial
from pathlib import Path

from tests.browser.lab import (
    cell_messages, cells_that_may_fail, open_browser, open_notebook, run_all, start_lab, use_dark_theme,
)  # fmt: skip


def save_cells(page, panel, folder):
    """One PNG per cell of the open notebook into ``folder``; the viewport grows to hold the tallest cell."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    cells = panel.locator(".jp-Cell")
    width = page.viewport_size["width"]
    for i in range(cells.count()):
        cells.nth(i).scroll_into_view_if_needed()
        box = cells.nth(i).bounding_box()
        page.set_viewport_size({"width": width, "height": max(1000, int(box["height"]) + 300)})
        page.wait_for_timeout(50)
        cells.nth(i).screenshot(path=folder / f"cell_{i:02d}.png")
    return cells.count()


def save_views(page, panel, folder):
    """The whole notebook as a learner scrolls through it: one PNG per window's height into ``folder``."""
    folder = Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    scroller = panel.locator(".jp-WindowedPanel-outer").first
    height = scroller.evaluate("area => { area.scrollTop = 0; return area.clientHeight; }")
    seen = -1
    for i in range(200):
        page.wait_for_timeout(100)
        top = scroller.evaluate("area => area.scrollTop")
        if top == seen:  # scrolling moved nothing: this was the end
            return
        page.screenshot(path=folder / f"view_{i:02d}.png")
        seen = top
        scroller.evaluate("(area, down) => { area.scrollTop += down; }", height - 60)


def main():
    parser = argparse.ArgumentParser(description="Save a picture of every cell of a notebook after Run All.")
    parser.add_argument("notebook", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dark", action="store_true", help="JupyterLab's dark theme")
    parser.add_argument("--width", type=int, default=1280, help="window width in CSS pixels")
    parser.add_argument("--scale", type=float, default=1.0, help="device pixels per CSS pixel")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="amp-lessons-") as root:
        copy = Path(shutil.copy(options.notebook, root))
        may_fail = cells_that_may_fail(copy)
        browser = partial(open_browser, width=options.width, scale=options.scale)
        with start_lab(root) as lab, browser(lab) as (page, problems):
            panel = open_notebook(page, lab, copy.name)
            if options.dark:
                use_dark_theme(page)
            errors = run_all(page, may_fail)
            messages = cell_messages(page)
            count = save_cells(page, panel, options.folder)
    print(f"{count} cells saved in {options.folder}")
    for i, (error, stderr) in enumerate(messages):
        if error or stderr:
            print(f"cell {i}: {error or stderr}")
    for problem in problems:
        print(f"page: {problem}")
    return 1 if set(errors) - set(may_fail) else 0


if __name__ == "__main__":
    raise SystemExit(main())
