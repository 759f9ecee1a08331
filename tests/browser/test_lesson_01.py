"""A learner's way through lesson 01, from Run All to tomorrow's start, in a real JupyterLab.

The tests share one browser and build on each other in the order in which they stand.
"""

import json

import pytest
import torch
from playwright.sync_api import expect

from amp_lessons.exercises.lesson_01_fp16_underflow import LESSON
from tests.browser.accessibility import serious_problems
from tests.browser.lab import (
    REPOSITORY, SLIDER_HANDLE, cell_messages, cells_that_may_fail, open_browser, open_notebook, run_all,
    use_dark_theme,
)  # fmt: skip
from tests.browser.learner import cell_above, find_cell, restart_kernel, run, write
from tests.browser.screenshots import save_views

NOTEBOOK = f"{LESSON.notebook}.ipynb"
SCREENSHOTS = REPOSITORY / "build" / "screenshots"
WRONG = "def becomes_zero(value):\n    return value != 0 and abs(value) < 2.0**-25\n"
RIGHT = "def becomes_zero(value):\n    return value != 0 and abs(value) <= 2.0**-25\n"


@pytest.fixture(scope="module")
def browser(lab):
    with open_browser(lab) as (page, problems):
        expect.set_options(timeout=15_000)
        yield page, problems


@pytest.fixture(scope="module")
def page(browser):
    return browser[0]


@pytest.fixture(scope="module")
def lesson(lab, page):
    """The lesson after Run All."""
    panel = open_notebook(page, lab, NOTEBOOK)
    assert run_all(page, cells_that_may_fail(lab.root / NOTEBOOK)) == {}
    return panel


def test_run_all_shows_no_error_and_no_warning(page, lesson):
    assert [message for message in cell_messages(page) if any(message)] == []
    save_views(page, lesson, SCREENSHOTS / "light")


def test_a_flipped_bit_shows_the_number_that_torch_reads_from_the_bits(page, lesson):
    cell = find_cell(page, lesson, "widgets.bit_explorer(")
    value, buttons = cell.locator(".amp-bit-value"), cell.locator("button.amp-bit")
    assert buttons.count() == 16

    def bits():
        return "".join(text.strip() for text in buttons.all_text_contents())

    for place in (15, 3, 0, 1):  # the last mantissa bit, two exponent bits, the sign
        before = bits()
        buttons.nth(place).focus()
        page.keyboard.press("Space")  # by keyboard, as a mouse click would do
        expect(buttons.nth(place)).to_have_text("1" if before[place] == "0" else "0")
        number = torch.tensor(int(bits(), 2), dtype=torch.int32).to(torch.int16).view(torch.float16).item()
        expect(value).to_have_text(repr(number))
        assert bits()[:place] + bits()[place + 1 :] == before[:place] + before[place + 1 :]


def test_a_typed_number_becomes_the_nearest_fp16_number(page, lesson):
    cell = find_cell(page, lesson, "widgets.bit_explorer(")
    field = cell.locator("input[type=text]").first
    for typed, becomes in (("1e-8", "0.0"), ("65520", "inf"), ("65519", "65504.0")):
        field.fill(typed)
        field.press("Enter")
        expect(cell.locator(".amp-bit-value")).to_have_text(becomes)


def test_the_loss_scale_moves_by_slider_and_by_number_field(page, lesson):
    cell = find_cell(page, lesson, "widgets.loss_scale_explorer(")
    sentence, picture = cell.locator(".amp-scale-sentence"), cell.locator("img")
    drawn = picture.get_attribute("src")
    expect(sentence).to_contain_text("2⁰ = 1")
    cell.locator(SLIDER_HANDLE).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(sentence).to_contain_text("2² = 4")
    expect(picture).not_to_have_attribute("src", drawn)
    field = cell.locator("input[type=number]")
    expect(field).to_have_value("2")
    field.fill("12")
    field.press("Enter")
    expect(sentence).to_contain_text("2¹² = 4,096")
    expect(picture).to_have_count(1)  # figures must replace each other, not pile up


def test_each_choice_of_a_quick_check_has_its_reply(page, lesson):
    quick_check = next(entry for entry in LESSON.quick_checks if entry.id == "why-65504")
    cell = find_cell(page, lesson, 'quick_check("why-65504")')
    for choice in quick_check.choices:
        cell.get_by_role("button", name=choice.label, exact=True).click()
        expect(cell).to_contain_text("Right." if choice.right else "Not quite.")
        expect(cell).to_contain_text(choice.reply)


def test_an_answer_is_checked_wrong_and_then_right(page, lab, lesson):
    check = find_cell(page, lesson, 'check("flush-to-zero")')
    answer = cell_above(check)
    write(page, answer, WRONG)
    run(page, answer)
    verdict = run(page, check)
    assert "Not yet" in verdict and "You said False for 2" in verdict
    write(page, answer, RIGHT)
    run(page, answer)
    verdict = run(page, check)
    assert "Correct" in verdict and "Not yet" not in verdict
    lines = [json.loads(line) for line in (lab.home / "progress.jsonl").read_text().splitlines()]
    kept = [line for line in lines if line["exercise"] == "flush-to-zero"]
    assert kept[-1]["points"] == kept[-1]["out_of"] > kept[0]["points"]


def test_accessibility_of_all_that_the_lesson_shows(page, lesson):
    assert serious_problems(page, ".jp-NotebookPanel .jp-OutputArea") == []


def test_the_dark_theme(page, lesson):
    use_dark_theme(page)
    assert serious_problems(page, ".jp-NotebookPanel .jp-OutputArea") == []
    save_views(page, lesson, SCREENSHOTS / "dark")


def test_the_points_are_there_tomorrow(page, lab, lesson):
    panel = open_notebook(page, lab, "00_start_here.ipynb")
    restart_kernel(page)
    run(page, find_cell(page, panel, "import torch"))
    map_of_lessons = run(page, find_cell(page, panel, "progress()"))
    title = next(exercise.title for exercise in LESSON.exercises if exercise.id == "flush-to-zero")
    assert f"{title}: correct, 2 of 2 points" in map_of_lessons
    assert str(lab.home) in map_of_lessons


def test_nothing_went_wrong_on_the_pages(browser):
    page, problems = browser
    assert problems == []
