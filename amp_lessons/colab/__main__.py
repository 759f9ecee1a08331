"""python -m amp_lessons.colab NOTEBOOKS FOLDER"""

import sys
from pathlib import Path

import amp_lessons
from amp_lessons.colab.building import build

if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m amp_lessons.colab NOTEBOOKS FOLDER")
    try:
        for path in build(sys.argv[1], sys.argv[2], Path(amp_lessons.__file__).parent):
            print(f"{path}  ({path.stat().st_size / 1000:.0f} kB)")
    except ValueError as error:
        sys.exit(str(error))
