"""The helper package as one text that a notebook cell can carry."""

import base64
import hashlib
import io
import tarfile

LEFT_OUT = ("classroom", "colab", "my_lessons.py", "pages.py")  # what only instructors and makers need


def packed(package):
    """Give ``package`` (the folder amp_lessons, a Path) as base64 of a tar.xz, in lines, and its version.

    The version is a hash of the contents: the same sources give the same text. Raises ValueError if the
    folder holds no package.
    """
    if not (package / "__init__.py").is_file():
        raise ValueError(
            f"There is no package in {package}. Start this in the folder that holds amp_lessons."
        )
    files = sorted(
        file for file in package.rglob("*.py") if file.relative_to(package).parts[0] not in LEFT_OUT
    )
    digest, buffer = hashlib.sha256(), io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz", preset=9) as archive:
        for file in files:
            name, content = file.relative_to(package.parent).as_posix(), file.read_bytes()
            digest.update(name.encode() + b"\0" + content)
            entry = tarfile.TarInfo(name)  # no times, no owner: nothing of this machine
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return base64.encodebytes(buffer.getvalue()).decode(), digest.hexdigest()[:12]
