#!/usr/bin/env python3
"""Draws the pictures of the built-in looks: the poster of each look with the helmet, as a small WebP.

With --sheet FILE, draws all looks with several models into one picture instead, for comparison.
Needs Pillow. Draws with draft light, which is enough for pictures of this size.
"""

import argparse
import io
import json
import os
import pathlib
import subprocess
import tempfile

from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOOKS = ROOT / "crates" / "plinth-service" / "looks" / "looks.json"
OUT = ROOT / "crates" / "plinth-studio" / "assets" / "looks"
HELMET = ROOT / "fixtures" / "models" / "flight_helmet.glb"
BUILT = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "plinth"
# Size of the box into which a picture is scaled, and the maximum size of its file, which a test checks.
BOX = (384, 216)
MAX_BYTES = 10_000


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=pathlib.Path, default=[HELMET], help="models to draw with --sheet")
    parser.add_argument("--only", nargs="+", metavar="ID", help="draw only these looks")
    parser.add_argument("--sheet", type=pathlib.Path, metavar="FILE", help="picture of all looks with all models")
    parser.add_argument("--plinth", default=os.environ.get("PLINTH", str(BUILT)), help="program to call")
    return parser.parse_args()


def poster(plinth, model, settings):
    with tempfile.NamedTemporaryFile(suffix=".png") as file:
        settings = settings | {"quality": "share"}
        command = [plinth, "render", model, "-o", file.name, "--quiet", "--draft", "--settings", json.dumps(settings)]
        subprocess.run([str(part) for part in command], check=True)
        return Image.open(file.name).convert("RGB")


def fitted(picture):
    small = picture.copy()
    small.thumbnail(BOX, Image.Resampling.LANCZOS)
    return small


def encoded(picture):
    """Returns the picture as WebP, with the best quality that fits into MAX_BYTES."""
    for quality in range(86, 30, -4):
        file = io.BytesIO()
        picture.save(file, "WEBP", quality=quality, method=6)
        if file.tell() < MAX_BYTES:
            return file.getvalue()
    raise SystemExit("the picture does not fit into the limit")


def main():
    args = arguments()
    looks = [look for look in json.loads(LOOKS.read_text()) if not args.only or look["id"] in args.only]
    if args.sheet:
        sheet = Image.new("RGB", (BOX[0] * len(args.models), BOX[1] * len(looks)), (128, 128, 128))
        for row, look in enumerate(looks):
            for column, model in enumerate(args.models):
                picture = fitted(poster(args.plinth, model, look["settings"]))
                sheet.paste(picture, (BOX[0] * column + (BOX[0] - picture.width) // 2, BOX[1] * row))
        sheet.save(args.sheet)
        return
    OUT.mkdir(parents=True, exist_ok=True)
    for look in looks:
        data = encoded(fitted(poster(args.plinth, HELMET, look["settings"])))
        (OUT / f"{look['id']}.webp").write_bytes(data)
        print(f"{look['id']}: {len(data)} bytes")


if __name__ == "__main__":
    main()
