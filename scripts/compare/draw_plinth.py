"""Draws rows with Plinth: writes a PNG of each shot, and the messages of Plinth about the model."""

import json
import pathlib
import subprocess
import tempfile
import time

from PIL import Image

FRAME_RATE = 30


def settings(row, poses, frames=1):
    """Returns settings of a scene that is lit only by the environment, with one camera pose, or with one pose per frame."""
    out = {
        "effect": "keyframes",
        "keyframes": [{"pose": pose} for pose in poses],
        "length": frames / FRAME_RATE,
        "aspect": "1:1",
        "quality": "share",
        "shadows": False,
        "envMode": "lighting",
        "spotlightIntensity": 0,
        "lightsIntensity": 0,
        "ambientIntensity": 0,
        "bgColor": row["background"],
    }
    if row["clip"] is not None:
        out |= {"animation": row["clip_name"], "animationSpeed": row["speed"]}
    return json.dumps(out)


def draw(row, programs, out):
    """Draws all shots of a row to OUT/ID.SHOT.png. A row of a gain map is also drawn with the .hdr file, to OUT/ID.hdr.SHOT.png.

    Returns a dictionary with `warnings` or `problem`.
    """
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        if "gain_map" in row:
            faults = [stills(row, programs, env, work, out, end)
                      for env, end in ((",".join(row["gain_map"]), ""), (row["env"], ".hdr"))]
            problem = faults[0] or faults[1]
        elif row["kind"] == "glb":
            problem = frames(row, programs, work, out)
        else:
            problem = stills(row, programs, row["env"], work, out)
    return {"problem": problem} if problem else {"warnings": row["warnings"]}


def stills(row, programs, env, work, out, end=""):
    """Draws each shot with `plinth render`; returns the error message if that fails."""
    picture = work / "picture.png"
    for n, shot in enumerate(row["shots"]):
        problem = run([programs["plinth"], "render", row["model"], "-o", picture, "--quiet", "--env", env,
                       "--settings", settings(row, [shot["pose"]])])
        if problem:
            return problem
        shrink(picture, row["size"], out / f"{row['id']}{end}.{n}.png")
    return None


def frames(row, programs, work, out):
    """Draws all shots as frames of one scene with an example program of plinth-render, so that light is baked once and no lossy
    encoding is used."""
    first = work / "frame.png"
    if row["clip"] is None:
        wanted = list(range(len(row["shots"])))
        given = settings(row, [shot["pose"] for shot in row["shots"]], len(wanted))
    else:
        wanted = [shot["frame"] for shot in row["shots"]]
        given = settings(row, [row["shots"][0]["pose"]], row["frames"])
    problem = run([programs["still"], row["model"], first, given, row["env"], "all"])
    if problem:
        return problem
    for n, frame in enumerate(wanted):
        picture = first if frame == 0 else work / f"frame.png.{frame:03}.png"
        shrink(picture, row["size"], out / f"{row['id']}.{n}.png")
    return None


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode == 0:
        return None
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]


def shrink(picture, size, to):
    Image.open(picture).convert("RGB").resize((size, size), Image.Resampling.LANCZOS).save(to)


def draw_all(rows, programs, out):
    """Draws the rows that have no pictures yet."""
    out.mkdir(parents=True, exist_ok=True)
    for row in rows:
        note = out / f"{row['id']}.json"
        if note.exists():
            continue
        begin = time.monotonic()
        said = draw(row, programs, out)
        seconds = time.monotonic() - begin
        note.write_text(json.dumps({**said, "seconds": seconds}))
        print(f"Plinth    {row['id']:50} {said.get('problem') or f'{seconds:.1f} s'}", flush=True)
