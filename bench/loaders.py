#!/usr/bin/env python3
"""Reads a dataset with the unmodified readers of other projects, if they are installed.

    bench/loaders.py SET               SET: a folder made with `plinth render --output dataset --split`

Prints a line for each reader, and fails if an installed reader cannot read the dataset or reads other cameras than those in
transforms.json. docs/datasets.md names the versions.
  pycolmap                   sparse/0, text and binary
  nerfstudio                 nerfstudio-data, instant-ngp-data, blender-data, colmap
  gsplat                     examples/datasets/colmap.py of its repository, whose folder GSPLAT_EXAMPLES names

LOADERS_PYTHON names the Python that has these packages, if it is not this one. `make loaders` installs such a Python, and
`make test` sets the variable.
"""

import importlib.util
import json
import os
import pathlib
import shutil
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit("loaders: numpy is missing; `scripts/find.sh python` names a Python that has it, `make loaders` makes one")


def installed(name):
    return importlib.util.find_spec(name) is not None


def same_poses(found, wanted, tolerance=1e-6):
    worst = max(np.abs(np.asarray(a) - b).max() for a, b in zip(found, wanted, strict=True))
    assert worst < tolerance, f"poses differ by {worst}"
    return worst


def with_pycolmap(folder, cameras, poses):
    import pycolmap

    for kind in ("bin", "txt"):
        with tempfile.TemporaryDirectory() as scratch:
            for file in (folder / "sparse/0").glob(f"*.{kind}"):
                shutil.copy(file, scratch)
            model = pycolmap.Reconstruction(scratch)
            assert model.num_images() == len(poses) and model.num_points3D() > 0
            images = sorted(model.images.values(), key=lambda image: image.name)
            found = []
            for image in images:
                c2w = np.eye(4)
                pose = image.cam_from_world
                c2w[:3] = (pose() if callable(pose) else pose).inverse().matrix()
                found.append(c2w @ np.diag([1, -1, -1, 1]))
            worst = same_poses(found, poses)
            lens = next(iter(model.cameras.values()))
            assert lens.model.name == "PINHOLE"
            assert np.allclose(lens.params, [cameras[k] for k in ("fl_x", "fl_y", "cx", "cy")])
            print(f"pycolmap {pycolmap.__version__} ({kind}): {len(found)} images, {model.num_points3D()} points, "
                  f"poses within {worst:.0e}")


def with_nerfstudio(folder, cameras, poses):
    from importlib.metadata import version

    from nerfstudio.data.dataparsers.blender_dataparser import BlenderDataParserConfig
    from nerfstudio.data.dataparsers.colmap_dataparser import ColmapDataParserConfig
    from nerfstudio.data.dataparsers.instant_ngp_dataparser import InstantNGPDataParserConfig
    from nerfstudio.data.dataparsers.nerfstudio_dataparser import NerfstudioDataParserConfig

    as_they_are = dict(orientation_method="none", center_method="none", auto_scale_poses=False)
    configs = {
        "nerfstudio-data, defaults": NerfstudioDataParserConfig(data=folder, load_3D_points=True),
        "nerfstudio-data, original poses": NerfstudioDataParserConfig(data=folder, eval_mode="all", **as_they_are),
        "instant-ngp-data": InstantNGPDataParserConfig(data=folder),
        "blender-data": BlenderDataParserConfig(data=folder),
        "colmap": ColmapDataParserConfig(data=folder, colmap_path=pathlib.Path("sparse/0"), downscale_factor=1),
    }
    # instant-ngp-data and blender-data assume square pixels. blender-data also assumes a principal point in the centre.
    lens = {"fx": "fl_x", "fy": "fl_y", "cx": "cx", "cy": "cy"}
    read = {"instant-ngp-data": ["fx", "cx", "cy"], "blender-data": ["fx"]}
    for name, config in configs.items():
        outputs = config.setup().get_dataparser_outputs(split="train")
        assert all(path.exists() for path in outputs.image_filenames)
        for field in read.get(name, lens):
            values = getattr(outputs.cameras, field).numpy()
            assert np.allclose(values, cameras[lens[field]], rtol=1e-5), f"{name}: {field} differs"
        points = outputs.metadata.get("points3D_xyz")
        words = "" if points is None else f", {len(points)} points"
        if "original" in name:
            words += f", poses within {same_poses(outputs.cameras.camera_to_worlds.numpy(), poses[:, :3], 1e-5):.0e}"
        if outputs.metadata.get("depth_filenames"):
            words += f", {len(outputs.metadata['depth_filenames'])} depth pictures"
        print(f"nerfstudio {version('nerfstudio')} {name}: {len(outputs.image_filenames)} images{words}")


def with_gsplat(folder, cameras, poses):
    sys.path.insert(0, os.environ["GSPLAT_EXAMPLES"])
    from datasets.colmap import Dataset, Parser

    parser = Parser(str(folder), factor=1, normalize=False)
    worst = same_poses(parser.camtoworlds @ np.diag([1, -1, -1, 1]), poses)
    first = Dataset(parser, split="train")[0]
    assert tuple(first["image"].shape) == (cameras["h"], cameras["w"], 3)
    Parser(str(folder), factor=1, normalize=True)
    print(f"gsplat parser: {len(parser.image_names)} images, {len(parser.points)} points, poses within {worst:.0e}")


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    python = os.environ.get("LOADERS_PYTHON")
    if python and pathlib.Path(python).parent.parent != pathlib.Path(sys.prefix):
        os.execv(python, [python, "-B", *sys.argv])
    folder = pathlib.Path(sys.argv[1])
    cameras = json.loads((folder / "transforms.json").read_text())
    poses = np.array([frame["transform_matrix"] for frame in cameras["frames"]])
    readers = {"pycolmap": with_pycolmap, "nerfstudio": with_nerfstudio}
    for name, read in readers.items():
        if installed(name):
            read(folder, cameras, poses)
        else:
            print(f"{name}: not installed")
    if os.environ.get("GSPLAT_EXAMPLES"):
        with_gsplat(folder, cameras, poses)
    else:
        print("gsplat: GSPLAT_EXAMPLES is not set")


if __name__ == "__main__":
    main()
