"""One JupyterLab for all journeys, on copies of the lessons as a learner gets them."""

import pytest

from amp_lessons.my_lessons import copy_lessons
from tests.browser.lab import REPOSITORY, start_lab


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learner") / "my_lessons"
    copy_lessons(REPOSITORY / "notebooks", folder)
    with start_lab(folder) as running:
        yield running
