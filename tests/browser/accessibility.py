"""What axe-core says about a page, less what a lesson cannot change."""

from axe_playwright_python.sync_playwright import Axe

# ipywidgets gives a slider's handle no name, and no way to set one: each slider has a number field beside it.
ALLOWED = {"aria-input-field-name"}


def serious_problems(page, selector):
    """Serious and critical findings in the parts of ``page`` that match ``selector``: one text each."""
    found = Axe().run(page, context={"include": [[selector]]}).response["violations"]
    return [
        f"{rule['id']} ({rule['impact']}): {node['html'][:200]}"
        for rule in found
        if rule["impact"] in ("serious", "critical") and rule["id"] not in ALLOWED
        for node in rule["nodes"]
    ]
