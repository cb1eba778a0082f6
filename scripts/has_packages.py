"""Prints the path of this Python if it is 3.10 or newer and has the packages of python.txt; fails otherwise."""
import pathlib
import sys

import numpy
import PIL

FOUND = {"numpy": numpy.__version__, "pillow": PIL.__version__}


def numbers(version):
    return [int(part) for part in version.split(".")[:2]]


assert sys.version_info >= (3, 10), sys.version
for line in pathlib.Path(__file__).with_name("python.txt").read_text().splitlines():
    if line and not line.startswith("#"):
        name, least = line.split(">=")
        assert numbers(FOUND[name]) >= numbers(least), f"{name} {FOUND[name]}"
print(sys.executable)
