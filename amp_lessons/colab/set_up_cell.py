# @title Set up { display-mode: "form" }
# This cell carries the lessons' helper package and unpacks it. Nothing is fetched, installed or upgraded.
import base64
import io
import os
import sys
import tarfile
import tempfile
from pathlib import Path

PACKED = ""
VERSION = ""


def unpack_amp_lessons(packed, version):
    """Write the package to a folder of its own and give the folder; what is there already stays as it is."""
    with tarfile.open(fileobj=io.BytesIO(base64.b85decode("".join(packed.split()))), mode="r:xz") as archive:
        contents = {each.name: archive.extractfile(each).read() for each in archive if each.isfile()}
    home = Path(os.path.expanduser("~"))
    places = [Path(tempfile.gettempdir(), f"amp_lessons_{os.getpid()}")]
    if home.is_absolute():  # not where nobody knows whose home it is
        places.insert(0, home / ".cache" / "amp_lessons" / version)
    for place in places:
        try:
            for name, content in contents.items():
                file = place / name
                if not file.is_file() or file.read_bytes() != content:
                    file.parent.mkdir(parents=True, exist_ok=True)
                    aside = file.with_name(f"{file.name}.{os.getpid()}")  # whole or not at all
                    aside.write_bytes(content)
                    aside.replace(file)
            return str(place)
        except OSError as error:  # a disk that is full, or a folder that can't be written to
            trouble = error
    raise OSError(
        f"The lessons' package can't be unpacked: {trouble}. Make room on the disk, then run this cell again."
    )


def put_amp_lessons_first(folder):
    """Load this notebook's own copy from now on, whatever else is installed or was loaded before."""
    sys.path[:] = [folder, *(each for each in sys.path if each != folder)]
    loaded = sys.modules.get("amp_lessons")
    if loaded is not None and not str(getattr(loaded, "__file__", "")).startswith(folder):
        for name in [each for each in sys.modules if each.split(".")[0] == "amp_lessons"]:
            del sys.modules[name]


put_amp_lessons_first(unpack_amp_lessons(PACKED, VERSION))
del PACKED
