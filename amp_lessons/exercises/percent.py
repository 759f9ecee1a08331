"""Reads percent scripts: Python files whose cells start with a line "# %% title"."""


def percent_cells(text):
    """The cells of a percent script as (title, source) pairs, in order. Text before the first is left out."""
    cells = []
    for line in text.splitlines():
        if line.startswith("# %%"):
            cells.append((line[4:].strip(), []))
        elif cells:
            cells[-1][1].append(line)
    return [(title, "\n".join(lines).strip("\n")) for title, lines in cells]
