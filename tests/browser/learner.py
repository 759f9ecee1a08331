"""What a learner does in an open notebook: find a cell, type into it, run it, restart the kernel."""

import re

from playwright.sync_api import expect

from tests.browser.lab import wait_for_idle_kernel


def find_cell(page, panel, text):
    """The first code cell whose source contains ``text``."""
    index = page.evaluate(
        """text => window.jupyterapp.shell.currentWidget.content.widgets
                         .findIndex(({ model }) => model.type === 'code' &&
                                                   model.sharedModel.getSource().includes(text))""",
        text,
    )
    assert index >= 0, f"no cell contains {text!r}"
    return panel.locator(".jp-Cell").nth(index)


def cell_above(cell):
    return cell.locator("xpath=preceding-sibling::div[contains(@class, 'jp-Cell')][1]")


def write(page, cell, source):
    """Replace what stands in ``cell`` by typing."""
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(source)  # as pasted: the editor adds no brackets and no indentation
    page.keyboard.press("Escape")


def run(page, cell):
    """Run ``cell`` with Ctrl+Enter, and give the text that it shows then."""
    prompt = cell.locator(".jp-InputPrompt")
    before = prompt.inner_text()
    prompt.click()
    page.keyboard.press("Control+Enter")
    expect(prompt).not_to_have_text(before)
    expect(prompt).to_have_text(re.compile(r"\[\d+\]:"))
    wait_for_idle_kernel(page)
    return cell.locator(".jp-OutputArea").first.inner_text()


def restart_kernel(page):
    """Kernel > Restart Kernel, confirmed."""
    page.locator(".lm-MenuBar-item >> text=/^Kernel$/").click()
    page.locator('.lm-Menu-item[data-command="kernelmenu:restart"]').click()
    page.locator(".jp-Dialog button.jp-mod-accept").click()
    page.locator(".jp-Dialog").wait_for(state="detached")
    wait_for_idle_kernel(page)
