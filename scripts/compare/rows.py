"""Lists what is drawn: rows with a model in its rest pose, a clip, an OBJ archive, or a gain map.

A row is a dictionary:
  id          name of its pictures
  title       title on the page
  kind        "glb" or "obj"
  model       path of the file
  three_model path of the file that three.js loads, if that is not `model`: the OBJ of an unpacked archive
  three_root  the folder to which the archive was unpacked
  env         path of a Radiance file
  gain_map    paths of sdr, gainmap and metadata, only in rows that compare them with `env`
  clip        number of the clip, or None for the rest pose
  clip_name   name of the clip as printed by Plinth
  size        side of a picture in pixels
  background  colour behind the model
  shots       list of {"pose": {position, lookAt, fov in degrees}, "time": seconds, "frame": index of Plinth's frame}
  frames      number of frames that Plinth draws of a clip
  speed       playback speed of the clip
  warnings    Plinth's warnings about the model
"""

import json
import math
import pathlib
import re
import subprocess
import zipfile

SIZE = 512
# No material has this colour, so outlines are visible. It is light, because a dark background would hide black errors.
BACKGROUND = "#a8c8e0"
FRONT = {"position": [1.2, 0.7, 4.2], "lookAt": [0, 0, 0], "fov": 35}
BACK = {"position": [-1.6, 0.5, -4.0], "lookAt": [0, 0, 0], "fov": 35}
# Frame rate of videos, and the maximum of the setting animationSpeed.
FRAME_RATE = 30
MAX_SPEED = 10
TIMES_OF_A_CLIP = 3


def of_folders(folders, env, plinth, work):
    """Lists the rows of all models (.glb) and archives (.zip) in some folders.

    `work` is a folder for unpacked archives. Returns the rows and a list of files that were left out, with the reason.
    """
    rows, left_out = [], []
    for folder in folders:
        for path in sorted(folder.glob("*.glb")) + sorted(folder.glob("*.zip")):
            inventory, problem = inspect(plinth, path)
            if problem:
                left_out.append((path.name, problem))
                continue
            if path.suffix == ".zip":
                root = work / path.stem
                paths = {"three_model": str(unpack(path, root)), "three_root": str(root)}
                rows.append(row(path, env, kind="obj", warnings=inventory["warnings"], **paths))
                continue
            rows.append(row(path, env, warnings=inventory["warnings"]))
            rows += clip_rows(path, env, inventory["animations"])
    return rows, left_out


def row(path, env, kind="glb", **more):
    """Returns the row of a model in its rest pose, from two sides."""
    name = path.stem if kind == "glb" else f"{path.stem} (OBJ)"
    shots = [{"pose": pose, "time": 0, "frame": 0} for pose in (FRONT, BACK)]
    return {"id": plain(name), "title": name, "kind": kind, "model": str(path), "env": str(env), "clip": None,
            "size": SIZE, "background": BACKGROUND, "shots": shots, "warnings": [], **more}


def clip_rows(path, env, clips):
    """Returns the rows of all clips. Of clips with the same name, only the first has a row, because Plinth finds clips by name."""
    names = [clip["name"] for clip in clips]
    return [clip_row(path, env, n, clip) for n, clip in enumerate(clips) if names.index(clip["name"]) == n]


def clip_row(path, env, number, clip):
    """Returns the row of a clip, at a quarter, half and three quarters of its length.

    Plinth draws the frames of a video, with `steps` frames between two of these times, so that the playback speed does not
    exceed MAX_SPEED.
    """
    interval = clip["duration"] / (TIMES_OF_A_CLIP + 1)
    steps = max(1, math.ceil(interval * FRAME_RATE / MAX_SPEED))
    shots = [{"pose": FRONT, "time": interval * k, "frame": steps * k} for k in range(1, TIMES_OF_A_CLIP + 1)]
    speed = interval * FRAME_RATE / steps
    if speed <= 0:
        # The clip has a single key.
        shots, steps, speed = [{"pose": FRONT, "time": 0, "frame": 0}], 0, 1
    name = f"{path.stem}: clip {number} {clip['name']}"
    out = row(path, env, clip=number, clip_name=clip["name"], frames=TIMES_OF_A_CLIP * steps + 1, speed=speed)
    return {**out, "id": plain(name), "title": name, "shots": shots}


def gain_map_rows(folder, model):
    """Returns rows of a model lit by each gain map of a folder (NAME.sdr.webp, NAME.gainmap.webp and NAME.json beside NAME.hdr)."""
    out = []
    for env in sorted(folder.glob("*.hdr")):
        parts = [env.with_suffix(end) for end in (".sdr.webp", ".gainmap.webp", ".json")]
        if all(part.is_file() for part in parts):
            name = f"gain map {env.stem}"
            out.append({**row(model, env), "id": plain(name), "title": name, "gain_map": [str(p) for p in parts]})
    return out


def plain(name):
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name)


def inspect(plinth, path):
    """Returns Plinth's description of a model, or its error message."""
    done = subprocess.run([plinth, "inspect", str(path), "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip()
    return json.loads(done.stdout), None


def unpack(path, folder):
    """Unpacks an archive; returns its OBJ."""
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            name = pathlib.PurePosixPath(entry.filename.replace("\\", "/"))
            if entry.is_dir() or name.is_absolute() or ".." in name.parts:
                continue
            to = folder / name
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(archive.read(entry))
    objects = sorted(p for p in folder.rglob("*") if p.suffix.lower() == ".obj" and not p.name.startswith("._"))
    return objects[0]
