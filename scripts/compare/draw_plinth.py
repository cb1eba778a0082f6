"""Draws rows with Plinth: PNG files of each shot, and what Plinth says of the model."""

import json
import pathlib
import subprocess
import tempfile
import time

from PIL import Image

# Clips are drawn by an example of plinth-render, because a video would lose colours.
FRAME_RATE = 30


def settings(row, shot):
    """Lit by the environment alone, seen from the shot's pose."""
    out = {
        "effect": "keyframes",
        "keyframes": [{"pose": shot["pose"]}],
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
        out |= {"animation": row["clip_name"], "animationSpeed": row["speed"], "length": row["frames"] / FRAME_RATE}
    return json.dumps(out)


def draw(row, programs, out):
    """Draws all shots of a row to OUT/ID.SHOT.png, those of a gain map's row by its .hdr to OUT/ID.hdr.SHOT.png.

    Returns {warnings} or {problem}.
    """
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        if row["clip"] is not None:
            return clip(row, programs, work, out)
        said = {"warnings": []}
        for n, shot in enumerate(row["shots"]):
            environments = {"": row["env"]}
            if "gain_map" in row:
                environments = {"": ",".join(row["gain_map"]), ".hdr": row["env"]}
            for end, env in environments.items():
                picture = work / "picture.png"
                command = [programs["plinth"], "render", row["model"], "-o", picture, "--quiet", "--env", env]
                done = run([*command, "--json", "--settings", settings(row, shot)])
                if done.returncode != 0:
                    return {"problem": done.stderr.strip() or f"exit code {done.returncode}"}
                said["warnings"] = warnings_of(done.stdout)
                shrink(picture, row["size"], out / f"{row['id']}{end}.{n}.png")
        return said


def clip(row, programs, work, out):
    """All frames of a clip, of which the wanted ones are kept."""
    first = work / "frame.png"
    command = [programs["still"], row["model"], first, settings(row, row["shots"][0]), row["env"], "all"]
    done = run(command)
    if done.returncode != 0:
        return {"problem": (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]}
    for n, shot in enumerate(row["shots"]):
        frame = first if shot["frame"] == 0 else work / f"frame.png.{shot['frame']:03}.png"
        shrink(frame, row["size"], out / f"{row['id']}.{n}.png")
    return {"warnings": []}


def run(command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)


def warnings_of(text):
    try:
        return json.loads(text).get("warnings", [])
    except json.JSONDecodeError:
        return []


def shrink(picture, size, to):
    Image.open(picture).convert("RGB").resize((size, size), Image.Resampling.LANCZOS).save(to)


def draw_all(rows, programs, out):
    """Draws what is not there yet."""
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
