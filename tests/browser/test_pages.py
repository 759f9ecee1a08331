"""The pages that ``make html`` wrote, in a browser that may load nothing but the page itself."""

from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.browser.accessibility import serious_problems
from tests.browser.lab import CHROMIUM, CHROMIUM_OPTIONS, REPOSITORY

FOLDER = REPOSITORY / "build" / "html"
LESSONS = [path.stem for path in sorted((REPOSITORY / "notebooks").glob("*.ipynb"))]


@pytest.fixture(scope="module")
def page():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_OPTIONS)
        yield browser.new_page(viewport={"width": 1100, "height": 900})
        browser.close()


@pytest.mark.parametrize("name", LESSONS)
def test_a_page_reads_well_without_kernel_and_network(page, name):
    asked_for = []
    page.on("request", lambda request: asked_for.append(request.url))
    page.goto((FOLDER / f"{name}.html").as_uri())
    elsewhere = [url for url in asked_for if not url.startswith(("file:", "data:"))]
    assert elsewhere == []
    images = page.locator(".jp-OutputArea-output img")
    assert images.count() > 0, "a lesson without a single picture"
    for image in images.all():
        assert len(image.get_attribute("alt") or "") > 20, "a picture without words"
        loaded = image.evaluate("image => image.complete && image.naturalWidth > 0")
        assert loaded, "a picture that does not load"
    shown = page.locator("main").inner_text()
    assert [trace for trace in ("VBox(", "HBox(", "HTML(value", "object at 0x") if trace in shown] == []
    assert serious_problems(page, "main") == []
    screenshots = REPOSITORY / "build" / "screenshots" / "html"
    screenshots.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=screenshots / f"{name}.png", full_page=True)


def test_the_index_leads_to_every_lesson(page):
    page.goto((FOLDER / "index.html").as_uri())
    leads_to = page.locator("ol a").evaluate_all("links => links.map(link => link.href)")
    assert [Path(target).stem for target in leads_to] == LESSONS
    assert all((FOLDER / f"{name}.html").is_file() for name in LESSONS)
