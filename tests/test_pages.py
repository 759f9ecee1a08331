"""Pages to read without a kernel: self-contained, with pictures and words where the lesson has widgets."""

import re

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbclient.exceptions import CellExecutionError

from amp_lessons import pages

LIVE = """
import ipywidgets
from IPython.display import display
box = ipywidgets.VBox([ipywidgets.IntSlider(value=3)])
view = {"model_id": box.model_id, "version_major": 2, "version_minor": 0}
still = '<p>The slider stands at 3.</p><img alt="a dot" src="data:,">'
bundle = {"text/plain": repr(box), "text/html": still, "application/vnd.jupyter.widget-view+json": view}
display(bundle, raw=True)
"""


def notebook_of(*cells):
    nb = nbformat.v4.new_notebook(cells=list(cells))
    nb.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nb


def text(source):
    return nbformat.v4.new_markdown_cell(source)


def code(source, *tags):
    return nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)} if tags else {})


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The pages of one small lesson, as {name: text}."""
    source, folder = tmp_path_factory.mktemp("notebooks"), tmp_path_factory.mktemp("html")
    lesson = notebook_of(
        text("# Bits & pieces\n\nBack to the [start](00_start_here.ipynb)."),
        code(LIVE),
        code("from tqdm.auto import tqdm\nfor _ in tqdm(range(3)): pass\nprint('counted')"),
        code("raise NotImplementedError", "raises-exception"),
    )
    nbformat.write(lesson, source / "01_bits.ipynb")
    pages.write_pages(source, folder)
    assert [file.name for file in source.iterdir()] == ["01_bits.ipynb"], "executing must write nothing here"
    return {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}


def test_a_widget_shows_its_still_picture_and_a_progress_bar_nothing(written):
    outputs = BeautifulSoup(written["01_bits.html"], "html.parser").select(".jp-OutputArea-output")
    shown = [output.get_text().strip() for output in outputs]
    assert shown[:2] == ["The slider stands at 3.", "counted"] and "NotImplementedError" in shown[2]
    assert [image["alt"] for image in outputs[0].select("img")] == ["a dot"]
    assert "widget-view" not in "".join(map(str, outputs))


def test_a_page_loads_nothing_from_elsewhere(written):
    for name, page in written.items():
        assert not re.search(r"<script|<link|@import", page), name
        assert not re.search(r"""(src=|url\()\s*["']?(https?:)?//""", page), name


def test_links_lead_from_page_to_page(written):
    assert 'href="00_start_here.html"' in written["01_bits.html"]
    assert '<a href="01_bits.html">Bits &amp; pieces</a>' in written["index.html"]


def test_a_cell_that_fails_ends_it(tmp_path):
    with pytest.raises(CellExecutionError, match="broken"):
        pages.execute(notebook_of(code("raise ValueError('broken')")), tmp_path)


def test_a_folder_without_lessons(tmp_path):
    with pytest.raises(ValueError, match="no lessons"):
        pages.write_pages(tmp_path, tmp_path / "html")
