"""What axe-core says about a page, less what a lesson cannot change."""

from axe_playwright_python.sync_playwright import Axe

# ipywidgets gives a slider's handle no name, and no way to set one: each slider has a number field beside it.
ALLOWED = {"aria-input-field-name"}


def serious_problems(page, selector):
    """Serious and critical findings in the parts of ``page`` that match ``selector``: one text each."""
    # JupyterLab's body has no height, from which axe concludes that nobody sees the text in it.
    page.evaluate("document.body.style.minHeight = '100vh'")
    found = Axe().run(page, context={"include": [[selector]]}).response
    assert "color-contrast" in {rule["id"] for rule in found["passes"]}, "axe sees no text here"
    # JupyterLab gives a picture without words the word "Image", and axe is content with it.
    wordless = page.locator(selector).locator("img:is(:not([alt]), [alt=''], [alt='Image'])")
    return [f"a picture without words: {html[:200]}" for html in _sources(wordless)] + [
        f"{rule['id']} ({rule['impact']}): {node['html'][:200]} {node['failureSummary'][:300]}"
        for rule in found["violations"]
        if rule["impact"] in ("serious", "critical") and rule["id"] not in ALLOWED
        for node in rule["nodes"]
    ]


def _sources(elements):
    return elements.evaluate_all("elements => elements.map(element => element.outerHTML)")
