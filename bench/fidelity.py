#!/usr/bin/env python3
"""Renders reference scenes with Plinth, for comparison with path-traced images.

FOLDER contains scenes.json: a list of objects with
  id         name of the picture
  model      path of a .glb
  env        path of a Radiance .hdr
  pose       {"position": [x, y, z], "lookAt": [x, y, z], "fov": degrees} in normalised units
  size       [width, height] of the picture, which must be square (default 512, 512)
  rotateEnv  rotation of the environment in degrees (default 0)
Paths are relative to FOLDER or to the folder above it; with --assets, only to that folder.

Each scene is lit only by its environment, on a white background. The pictures are OUT/ID.png. Needs Pillow.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILT = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "plinth"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER", help="contains scenes.json")
    parser.add_argument("out", type=pathlib.Path, metavar="OUT", help="output folder; created if missing")
    parser.add_argument("--assets", type=pathlib.Path, help="folder to which the paths of models and environments are relative")
    parser.add_argument("--only", nargs="+", metavar="ID", help="draw only these scenes")
    parser.add_argument("--plinth", default=os.environ.get("PLINTH", str(BUILT)), help="program to call")
    return parser.parse_args()


def find(name, places):
    for place in places:
        if (place / name).is_file():
            return place / name
    sys.exit(f"fidelity: {name} is not in " + " or ".join(str(p) for p in places))


def settings(scene):
    return {
        "effect": "keyframes",
        "keyframes": [{"pose": scene["pose"]}],
        "aspect": "1:1",
        "quality": "share",
        "shadows": False,
        "envMode": "lighting",
        "envRotation": scene.get("rotateEnv", 0),
        "spotlightIntensity": 0,
        "lightsIntensity": 0,
        "ambientIntensity": 0,
        "bgColor": "#ffffff",
    }


def draw(plinth, scene, places, out):
    """Renders one scene. Returns the error message if that fails."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as work:
        picture = pathlib.Path(work) / "picture.png"
        command = [plinth, "render", find(scene["model"], places), "-o", picture, "--quiet"]
        command += ["--env", find(scene["env"], places), "--settings", json.dumps(settings(scene))]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if done.returncode != 0:
            return done.stderr.strip() or f"exit code {done.returncode}"
        size = tuple(scene.get("size", (512, 512)))
        image = Image.open(picture).convert("RGB")
        image.resize(size, Image.Resampling.LANCZOS).save(out / f"{scene['id']}.png")
    return None


def main():
    args = arguments()
    try:
        import PIL  # noqa: F401
    except ImportError:
        sys.exit("fidelity: Pillow is missing; `make fidelity` finds a Python that has it")
    list_path = args.folder / "scenes.json"
    if not list_path.is_file():
        sys.exit(f"fidelity: {list_path} is missing")
    scenes = json.loads(list_path.read_text())
    if args.only:
        scenes = [scene for scene in scenes if scene["id"] in args.only]
    if not scenes:
        sys.exit("fidelity: no such scene")
    places = [args.assets] if args.assets else [args.folder, args.folder.resolve().parent]
    args.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for scene in scenes:
        problem = draw(args.plinth, scene, places, args.out)
        failed += problem is not None
        print(f"{scene['id']:32} {problem or 'drawn'}", flush=True)
    print(f"{len(scenes) - failed} of {len(scenes)} pictures in {args.out}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
