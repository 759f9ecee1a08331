"""What the README shows of the recorder is what the recorder says."""

import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_readme_shows_what_the_recorder_says(tmp_path, monkeypatch, capsys):
    section = README.read_text(encoding="utf-8").split("## Watch your own loop")[1].split("\n## ")[0]
    code, said = (
        re.sub("^ {4}", "", block, flags=re.M).strip("\n")
        for block in re.findall(r"(?:^ {4}.*\n|^\n(?= {4}))+", section, flags=re.M)
    )
    script = tmp_path / "train.py"
    script.write_text(code + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(script), "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.strip() == said
