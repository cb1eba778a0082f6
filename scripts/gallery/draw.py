"""Draws the pictures of the gallery: calls the program and puts its pictures side by side."""

import json
import os
import pathlib
import subprocess
import tempfile
import threading

from PIL import Image

TILE = 220
FILM_TILE = 110
FILM_FRAMES = 4
FILM_SECONDS = FILM_FRAMES / 30
PAPER = (236, 236, 232)
QUALITY = 80


class Studio:
    """Calls the program, with the files that the settings name."""

    def __init__(self, plinth, files, work):
        self.plinth, self.files, self.work = plinth, files, pathlib.Path(work)
        self.datasets, self.lock = {}, threading.Lock()

    def render(self, model, settings, out):
        command = [self.plinth, "render", model, "-o", out, "--quiet", "--settings", json.dumps(settings)]
        text = json.dumps(settings)
        for name in ("logo", "stripes", "checks"):
            if f'"{name}"' in text:
                command += ["--asset", f"{name}={self.files[name]}"]
        if "envId" in settings:
            command += ["--env", self.files["sky"]]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{json.dumps(settings)}: {done.stderr.strip()}")
        return out

    def still(self, model, settings):
        """Returns a still: the first frame."""
        with tempfile.NamedTemporaryFile(suffix=".png", dir=self.work) as file:
            return Image.open(self.render(model, settings, file.name)).convert("RGBA")

    def film(self, model, settings):
        """Returns evenly spaced frames of a video, side by side."""
        with tempfile.TemporaryDirectory(dir=self.work) as folder:
            video = self.render(model, settings | {"length": FILM_SECONDS}, pathlib.Path(folder) / "film.mp4")
            command = [os.environ.get("PLINTH_FFMPEG", "ffmpeg"), "-v", "error", "-i", video, pathlib.Path(folder) / "%03d.png"]
            subprocess.run([str(part) for part in command], check=True)
            frames = sorted(pathlib.Path(folder).glob("*.png"))
            chosen = [frames[round(i * (len(frames) - 1) / (FILM_FRAMES - 1))] for i in range(FILM_FRAMES)]
            return beside([fitted(Image.open(frame).convert("RGBA"), FILM_TILE) for frame in chosen])

    def dataset(self, model, settings):
        """Returns the folder of a dataset; equal datasets are rendered only once."""
        key = json.dumps([str(model), settings], sort_keys=True)
        with self.lock:
            if key not in self.datasets:
                folder = self.work / f"dataset{len(self.datasets)}"
                self.datasets[key] = self.render(model, settings, folder)
            return self.datasets[key]


def views(folder, layers):
    """Returns a picture of one view of a dataset with all layers, or of nine views."""
    image = lambda name: fitted(Image.open(folder / name).convert("RGBA"), TILE // 2 if layers else TILE // 3)
    if layers:
        names = ["images/0030.png", "depth/0030.png", "normals/0030.png", "masks/mask_0030.png"]
        columns = 2
    else:
        names = [f"images/{i:04}.png" for i in range(0, 100, 12)]
        columns = 3
    tiles = [image(name) for name in names]
    return below([beside(tiles[i : i + columns]) for i in range(0, len(tiles), columns)])


def fitted(image, side):
    """Fits a picture into a square of the colour PAPER, so that alpha and aspect ratio are visible."""
    image = image.copy()
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    tile = Image.new("RGB", (side, side), PAPER)
    at = ((side - image.width) // 2, (side - image.height) // 2)
    tile.paste(image.convert("RGB"), at, image.getchannel("A") if image.mode == "RGBA" else None)
    return tile


def part(image, center):
    """Crops a square from a picture without scaling."""
    x = min(max(round(center[0] * image.width) - TILE // 2, 0), max(image.width - TILE, 0))
    y = min(max(round(center[1] * image.height) - TILE // 2, 0), max(image.height - TILE, 0))
    return image.crop((x, y, x + TILE, y + TILE))


def beside(tiles):
    strip = Image.new("RGB", (sum(tile.width for tile in tiles), max(tile.height for tile in tiles)), PAPER)
    x = 0
    for tile in tiles:
        strip.paste(tile, (x, 0))
        x += tile.width
    return strip


def below(tiles):
    strip = Image.new("RGB", (max(tile.width for tile in tiles), sum(tile.height for tile in tiles)), PAPER)
    y = 0
    for tile in tiles:
        strip.paste(tile, (0, y))
        y += tile.height
    return strip


def strip(studio, row, name, model):
    """Returns a picture of all values of a row, with one model."""
    base = {"quality": "share", "aspect": "1:1"} | row.get("base", {}) | row.get("baseOf", {}).get(name, {})
    tiles = []
    for value in row.get("valuesOf", {}).get(name, row["values"]):
        settings = base if value is None else base | {row["key"]: value}
        if settings.get("output") == "dataset":
            folder = studio.dataset(model, {k: v for k, v in settings.items() if k not in ("quality", "aspect")})
            tiles.append(views(folder, layers=row["key"] == "output"))
        elif row.get("film"):
            tiles.append(studio.film(model, settings))
        else:
            image = studio.still(model, settings)
            tiles.append(fitted(part(image, row["detail"]) if "detail" in row else image, TILE))
    return below(tiles) if row.get("film") else beside(tiles)
