#!/usr/bin/env python3
"""Writes small test models (CC0). The picture of each shows whether one rule of glTF is implemented correctly.

usage: make_models.py FOLDER

The first line of each function says what must be visible.
"""

import pathlib
import sys

import models_materials
import models_nodes
import models_textures


def write_all(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for make in models_textures.MODELS + models_nodes.MODELS + models_materials.MODELS:
        make().write(folder / f"{make.__name__}.glb")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write_all(pathlib.Path(sys.argv[1]))
