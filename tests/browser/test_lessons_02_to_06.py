"""A learner's way through lessons 02 to 06, in a real JupyterLab: Run All, the widgets, an exercise.

The tests of a lesson share one open notebook and build on each other in the order in which they stand.
"""

import pytest
from playwright.sync_api import expect

from amp_lessons import policy
from amp_lessons.exercises import catalogue
from amp_lessons.exercises.helping import reference_answer
from tests.answers import all_wrong_answers
from tests.browser.accessibility import serious_problems
from tests.browser.lab import (
    REPOSITORY, cell_messages, cells_that_may_fail, open_browser, open_notebook, run_all, use_dark_theme,
    use_light_theme,
)  # fmt: skip
from tests.browser.learner import cell_above, find_cell, run, write
from tests.browser.screenshots import save_views

SCREENSHOTS = REPOSITORY / "build" / "screenshots"
EXERCISE = {
    "02_autocast": "autocast-the-forward",
    "03_scale_step_update": "order-the-calls",
    "04_full_amp_training": "convert-the-loop",
    "05_fp16_or_bf16": "accumulate-in-fp32",
    "06_memory_and_speed": "largest-batch",
}


@pytest.fixture(scope="module")
def browser(lab):
    with open_browser(lab) as (page, problems):
        expect.set_options(timeout=15_000)
        yield page, problems


@pytest.fixture(scope="module")
def page(browser):
    return browser[0]


@pytest.fixture(scope="module", params=list(EXERCISE))
def name(request):
    return request.param


@pytest.fixture(scope="module")
def lesson(lab, page, name):
    """The lesson after Run All."""
    panel = open_notebook(page, lab, f"{name}.ipynb")
    use_light_theme(page)
    assert run_all(page, cells_that_may_fail(lab.root / f"{name}.ipynb")) == {}
    return panel


def test_run_all_shows_no_error_and_no_warning(page, lesson, name):
    assert [message for message in cell_messages(page) if any(message)] == []
    save_views(page, lesson, SCREENSHOTS / "light" / name)


def test_the_lessons_widget_moves(page, lesson, name):
    if name == "02_autocast":
        _asks_the_policy(find_cell(page, lesson, "widgets.policy_explorer("))
    elif name == "03_scale_step_update":
        _drives_the_scaler(page, find_cell(page, lesson, "widgets.scaler_simulator("))
    elif name == "05_fp16_or_bf16":
        _adds_up(find_cell(page, lesson, "widgets.sum_explorer("))
    elif name == "06_memory_and_speed":
        _multiplies(page, find_cell(page, lesson, "widgets.roofline_explorer("))
    else:  # no widget of its own: a quick check
        cell = find_cell(page, lesson, 'quick_check("does-memory-halve")')
        choices = next(q for q in _lesson(name).quick_checks if q.id == "does-memory-halve").choices
        for choice in choices:
            cell.get_by_role("button", name=choice.label, exact=True).click()
            expect(cell).to_contain_text("Right." if choice.right else "Not quite.")


def _asks_the_policy(cell):
    op, device, dtype = (cell.get_by_role("combobox").nth(place) for place in range(3))
    sentence = cell.locator(".amp-policy-sentence")
    for one_op, one_device in (("exp", "CUDA"), ("exp", "CPU"), ("binary_cross_entropy", "CUDA")):
        op.select_option(one_op)
        device.select_option(one_device)
        answer = policy.ask(one_op, one_device.lower())
        expect(sentence).to_have_text(answer.sentence)
    dtype.select_option("bfloat16")
    expect(sentence).to_have_text(policy.ask("binary_cross_entropy", "cuda", policy.DTYPES[1]).sentence)


def _drives_the_scaler(page, cell):
    scale, picture = cell.locator(".amp-scaler-scale"), cell.locator("img")
    expect(scale).to_contain_text("65,536")
    expect(picture).to_have_count(0)  # it begins with the first step
    cell.get_by_role("button", name="Overflow", exact=True).focus()
    page.keyboard.press("Space")
    expect(scale).to_contain_text("32,768")
    drawn = picture.get_attribute("src")
    page.keyboard.press("Space")
    expect(scale).to_contain_text("16,384")
    expect(picture).not_to_have_attribute("src", drawn)
    field = cell.locator("input[type=number]")
    field.fill("2")
    field.press("Enter")
    for _ in range(2):
        cell.get_by_role("button", name="Good step", exact=True).click()
    expect(scale).to_contain_text("32,768")
    expect(picture).to_have_count(1)  # figures must replace each other, not pile up
    cell.get_by_role("button", name="Start again").click()
    expect(scale).to_contain_text("65,536")


def _adds_up(cell):
    headline, picture = cell.locator(".amp-sum-headline"), cell.locator("img")
    expect(headline).to_have_text("BF16 stops at 4 on the way to 10")
    drawn = picture.get_attribute("src")
    addend, count = cell.locator("input[type=text]"), cell.locator("input[type=number]")
    addend.fill("0.25")
    addend.press("Enter")
    count.fill("400")
    count.press("Enter")
    expect(headline).to_have_text("BF16 stops at 64 on the way to 100")
    expect(picture).not_to_have_attribute("src", drawn)
    expect(picture).to_have_count(1)  # figures must replace each other, not pile up
    addend.fill("<b>much")
    addend.press("Enter")
    expect(cell).to_contain_text("“<b>much” is not a number")
    expect(headline).to_have_text("BF16 stops at 64 on the way to 100")


def _multiplies(page, cell):
    headline, picture = cell.locator(".amp-roofline-headline"), cell.locator("img")
    expect(headline).to_contain_text("Memory limits this product")
    drawn = picture.get_attribute("src")
    rows = cell.locator("input[type=number]").first
    rows.fill("4096")
    rows.press("Enter")
    expect(headline).to_contain_text("Arithmetic limits this product")
    cell.get_by_role("combobox").select_option("A100 SXM 40 GB")
    expect(cell).to_contain_text("on the A100 SXM 40 GB")
    cell.locator(".widget-slider :is(.noUi-handle, .ui-slider-handle)").first.focus()
    page.keyboard.press("ArrowLeft")
    expect(cell).to_contain_text("(2,048 × 4,096) times (4,096 × 4,096)")
    expect(picture).not_to_have_attribute("src", drawn)
    expect(picture).to_have_count(1)


def test_an_exercise_names_the_mistake_and_then_is_solved(page, lesson, name):
    exercise = EXERCISE[name]
    wrong = next(one for one in all_wrong_answers() if one.exercise == exercise and one.mistake)
    check = find_cell(page, lesson, f'check("{exercise}")')
    answer = cell_above(check)
    write(page, answer, wrong.source)
    run(page, answer)
    verdict = run(page, check)
    assert "Not yet" in verdict and wrong.says.replace("`", "") in verdict
    write(page, answer, reference_answer(exercise))
    run(page, answer)
    verdict = run(page, check)
    assert "Correct" in verdict and "Not yet" not in verdict


def test_accessibility_in_both_themes(page, lesson, name):
    assert serious_problems(page, ".jp-NotebookPanel .jp-OutputArea") == []
    use_dark_theme(page)
    assert serious_problems(page, ".jp-NotebookPanel .jp-OutputArea") == []
    save_views(page, lesson, SCREENSHOTS / "dark" / name)


def test_nothing_went_wrong_on_the_pages(browser, lesson):
    assert browser[1] == []


def _lesson(name):
    return next(lesson for lesson in catalogue.current().lessons if lesson.notebook == name)
