#!/usr/bin/env python3
"""Measures how the cost of a render grows with the size of its inputs. Prints tables and draws plots.

    bench/scaling.py [--only triangles,textures,...] [--out FOLDER]

The models are generated: bumpy spheres. Each measurement varies one of these properties:

  triangles  10 k to 10 M, one sphere
  textures   1 to 64 base colour textures of 2048 x 2048, 100 k triangles
  materials  1 to 1200, each on its own sphere, 100 k triangles
  size       960 x 540 to 3840 x 2160
  length     2 to 120 s
  cores      1 to all cores of this machine (limited with taskset)

Columns: seconds from the start of the program to the first frame, without the cache; milliseconds per further frame;
peak resident memory of the program. Each value is the minimum over --runs.
"""

import argparse
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

import matplotlib
import numpy as np
from PIL import Image

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402 (the backend is chosen before)

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILT = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "plinth"
TRIANGLES = 100_000
TEXTURE_SIDE = 2048
FRAMES_PER_SECOND = 30


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(CAUSES), help="properties to measure (default: all)")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench-output" / "scaling")
    parser.add_argument("--runs", type=int, default=2, help="runs of each render (default: 2)")
    parser.add_argument("--plinth", default=os.environ.get("PLINTH", BUILT), help="program to measure")
    chosen = parser.parse_args()
    chosen.only = chosen.only.split(",")
    unknown = set(chosen.only) - set(CAUSES)
    if unknown:
        parser.error(f"--only: {', '.join(sorted(unknown))} must be among {', '.join(CAUSES)}")
    return chosen


def sphere(triangles):
    """Returns positions, normals, texture coordinates and indices of a sphere of radius 1 with bumps of 5 %."""
    columns = max(4, round(triangles**0.5))
    rows = max(2, round(triangles / 2 / columns))
    u, v = np.meshgrid(np.linspace(0, 1, columns + 1), np.linspace(0, 1, rows + 1))
    around, down = 2 * np.pi * u, np.pi * v
    radius = 1 + 0.05 * np.sin(20 * around) * np.sin(20 * down) * np.sin(down)
    unit = np.stack([np.sin(down) * np.cos(around), np.cos(down), np.sin(down) * np.sin(around)], -1)
    positions = radius[..., None] * unit
    normals = np.cross(np.gradient(positions, axis=1), np.gradient(positions, axis=0))
    lengths = np.linalg.norm(normals, axis=-1, keepdims=True)
    normals = np.where(lengths > 1e-12, normals / np.maximum(lengths, 1e-12), unit)
    normals *= np.where((normals * unit).sum(-1, keepdims=True) < 0, -1, 1)
    i, j = np.meshgrid(np.arange(columns), np.arange(rows))
    first = j * (columns + 1) + i
    below = first + columns + 1
    indices = np.stack([first, first + 1, below, first + 1, below + 1, below], -1).reshape(-1)
    flat = [a.reshape(-1, a.shape[-1]).astype("<f4") for a in (positions, normals, np.stack([u, v], -1))]
    return (*flat, indices.astype("<u4"))


def texture(seed):
    """Returns a JPEG with coarse and fine detail."""
    random = np.random.default_rng(seed)
    coarse = Image.fromarray(random.integers(60, 255, (64, 64, 3), dtype=np.uint8))
    file = io.BytesIO()
    coarse.resize((TEXTURE_SIDE, TEXTURE_SIDE), Image.Resampling.BICUBIC).save(file, "JPEG", quality=85)
    return file.getvalue()


class Glb:
    """A binary glTF file under construction."""

    def __init__(self):
        self.chunks, self.length = [], 0
        lists = ("nodes", "meshes", "materials", "bufferViews", "accessors", "images", "textures")
        self.document = {"asset": {"version": "2.0"}, "scene": 0, **{name: [] for name in lists}}

    def add(self, name, item):
        self.document[name].append(item)
        return len(self.document[name]) - 1

    def view(self, data):
        padded = data + b"\0" * (-len(data) % 4)
        index = self.add("bufferViews", {"buffer": 0, "byteOffset": self.length, "byteLength": len(data)})
        self.chunks.append(padded)
        self.length += len(padded)
        return index

    def accessor(self, values, component, kind, **more):
        view = self.view(values.tobytes())
        return self.add("accessors", {"bufferView": view, "componentType": component, "count": len(values), "type": kind, **more})

    def write(self, path):
        document = {name: value for name, value in self.document.items() if value != []}
        document["scenes"] = [{"nodes": list(range(len(document["nodes"])))}]
        document["buffers"] = [{"byteLength": self.length}]
        head = json.dumps(document).encode()
        head += b" " * (-len(head) % 4)
        body = b"".join(self.chunks)
        with open(path, "wb") as file:
            file.write(struct.pack("<4sII", b"glTF", 2, 12 + 8 + len(head) + 8 + len(body)))
            file.write(struct.pack("<I4s", len(head), b"JSON") + head + struct.pack("<I4s", len(body), b"BIN\0") + body)


def model(path, triangles=TRIANGLES, materials=1, textures=0):
    """Writes a model that is a row of spheres, one per material. The first materials have a texture. Returns the path."""
    if path.exists():
        return path
    glb = Glb()
    positions, normals, uvs, indices = sphere(triangles // materials)
    low, high = positions.min(0).tolist(), positions.max(0).tolist()
    corners = {
        "POSITION": glb.accessor(positions, 5126, "VEC3", min=low, max=high),
        "NORMAL": glb.accessor(normals, 5126, "VEC3"),
        "TEXCOORD_0": glb.accessor(uvs, 5126, "VEC2"),
    }
    order = glb.accessor(indices, 5125, "SCALAR")
    columns = int(np.ceil(materials**0.5))
    for number in range(materials):
        shade = {"metallicFactor": 0, "roughnessFactor": 0.6, "baseColorFactor": [0.7, 0.4 + 0.5 * number / materials, 0.3, 1]}
        if number < textures:
            image = glb.add("images", {"bufferView": glb.view(texture(number)), "mimeType": "image/jpeg"})
            shade = {**shade, "baseColorFactor": [1, 1, 1, 1], "baseColorTexture": {"index": glb.add("textures", {"source": image})}}
        material = glb.add("materials", {"pbrMetallicRoughness": shade})
        mesh = glb.add("meshes", {"primitives": [{"attributes": corners, "indices": order, "material": material}]})
        glb.add("nodes", {"mesh": mesh, "translation": [2.2 * (number % columns), 2.2 * (number // columns), 0]})
    glb.write(path)
    return path


def peak_memory(pid):
    """Returns the peak resident memory so far in kilobytes; 0 if the process has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")), 0)


def render(chosen, folder, path, quality="share", length=0.5, cores=None):
    """Renders once. Returns seconds to the first frame, milliseconds per further frame, and peak memory in megabytes."""
    command = [str(chosen.plinth), "render", str(path), "-o", str(folder / "out.mp4"), "--quality", quality,
               "--length", str(length), "--json"]
    if cores:
        command = ["taskset", "-c", f"0-{cores - 1}", *command]
    with open(folder / "manifest.json", "w+") as manifest, open(folder / "errors.txt", "w+") as errors:
        process = subprocess.Popen(command, stdout=manifest, stderr=errors, env={**os.environ, "PLINTH_CACHE_MB": "0"})
        kilobytes = 0
        while process.poll() is None:
            kilobytes = max(kilobytes, peak_memory(process.pid))
            time.sleep(0.02)
        errors.seek(0)
        if process.returncode != 0:
            sys.exit(f"scaling: {' '.join(command)}: {errors.read()}")
        manifest.seek(0)
        facts = json.load(manifest)
    times = facts["timings"]
    frame = 1000 * times["renderSecs"] / max(facts["frames"] - 1, 1)
    return times["firstFrameSecs"], frame, kilobytes / 1024


def of_triangles(folder):
    for count in (10_000, 100_000, 1_000_000, 10_000_000):
        yield count, {"path": model(folder / f"triangles{count}.glb", triangles=count)}


def of_textures(folder):
    for count in (1, 4, 16, 64):
        yield count, {"path": model(folder / f"textures{count}.glb", materials=count, textures=count)}


def of_materials(folder):
    for count in (1, 10, 40, 100, 400, 1200):
        yield count, {"path": model(folder / f"materials{count}.glb", materials=count)}


def of_size(folder):
    for quality, pixels in (("share", 960 * 540), ("standard", 1920 * 1080), ("4k", 3840 * 2160)):
        yield pixels, {"path": model(folder / "plain.glb"), "quality": quality}


def of_length(folder):
    for seconds in (2, 10, 30, 120):
        yield seconds, {"path": model(folder / "plain.glb"), "length": seconds}


def of_cores(folder):
    available = len(os.sched_getaffinity(0))
    for cores in sorted({1, 2, 4, 8, available}):
        if cores <= available:
            yield cores, {"path": model(folder / "plain.glb"), "quality": "standard", "cores": cores}


CAUSES = {
    "triangles": ("triangles", of_triangles),
    "textures": ("textures of 2048 × 2048", of_textures),
    "materials": ("materials", of_materials),
    "size": ("pixels", of_size),
    "length": ("seconds of video", of_length),
    "cores": ("cores", of_cores),
}
COLUMNS = ("first frame, s", "frame, ms", "memory, MB")


def plot(path, label, rows):
    figure, axes = plt.subplots(1, len(COLUMNS), figsize=(10, 3), layout="constrained")
    for column, (axis, title) in enumerate(zip(axes, COLUMNS)):
        axis.plot([cause for cause, _ in rows], [values[column] for _, values in rows], marker="o")
        axis.set(xscale="log", xlabel=label, title=title)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    figure.savefig(path)
    plt.close(figure)


def main():
    chosen = arguments()
    chosen.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name in chosen.only:
            label, cases = CAUSES[name]
            print(f"\n| {label} | {' | '.join(COLUMNS)} |\n|---|---|---|---|")
            rows = []
            for cause, options in cases(folder):
                runs = [render(chosen, folder, **options) for _ in range(chosen.runs)]
                least = [min(values) for values in zip(*runs)]
                rows.append((cause, least))
                print(f"| {cause} | {least[0]:.2f} | {least[1]:.1f} | {least[2]:.0f} |", flush=True)
            plot(chosen.out / f"{name}.svg", label, rows)
    print(f"\nplots: {chosen.out}")


if __name__ == "__main__":
    main()
