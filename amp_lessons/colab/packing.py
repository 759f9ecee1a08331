"""The helper package as one text that a notebook cell can carry."""

import base64
import hashlib
import io
import tarfile

LINE = 1000  # characters: a notebook file spends ten more on each line
LEFT_OUT = ("classroom", "colab", "my_lessons.py", "pages.py")  # what only instructors and makers need


def packed(package):
    """Give ``package`` (the folder amp_lessons, a Path) as base85 of a tar.xz, in lines, and its version.

    The version is a hash of the contents: the same sources give the same text. Raises ValueError if the
    folder holds no package.
    """
    if not (package / "__init__.py").is_file():
        raise ValueError(
            f"There is no package in {package}. Start this in the folder that holds amp_lessons."
        )
    files = sorted(file for file in package.rglob("*.py") if _is_carried(file.relative_to(package).parts))
    digest, buffer = hashlib.sha256(), io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz", preset=9) as archive:
        for file in files:
            name, content = file.relative_to(package.parent).as_posix(), file.read_bytes()
            digest.update(name.encode() + b"\0" + content)
            entry = tarfile.TarInfo(name)  # no times, no owner: nothing of this machine
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    text = base64.b85encode(buffer.getvalue()).decode()  # no quote and no backslash among its characters
    lines = [text[start : start + LINE] + "\n" for start in range(0, len(text), LINE)]
    return "".join(lines), digest.hexdigest()[:12]


def _is_carried(parts):
    return parts[0] not in LEFT_OUT and not any(part.startswith(".") for part in parts)
