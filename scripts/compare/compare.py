#!/usr/bin/env python3
"""Draws models with three.js and with Plinth, and writes a page that shows where they differ.

Each FOLDER contains .glb files and .zip archives with one OBJ; the models of make_models.py are always drawn, too. A model
is drawn in its rest pose from two sides, and each of its clips at three times, lit only by --env. Gain maps (NAME.sdr.webp,
NAME.gainmap.webp, NAME.json) in the folder of --env are compared with the environments NAME.hdr from which they were made.
Existing pictures in --out are reused: delete OUT/plinth to draw with a new version of Plinth.
scripts/compare/compare.sh installs the requirements and calls this script.
"""

import argparse
import json
import pathlib
import re
import subprocess

import draw_plinth
import environment
import make_models
import page
import rows as row_list

HERE = pathlib.Path(__file__).resolve().parent
# The model that is lit by gain maps. It has metal, leather and glass.
SAMPLE = HERE.parents[1] / "fixtures" / "models" / "flight_helmet.glb"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=pathlib.Path, metavar="FOLDER", help="contains models")
    parser.add_argument("--env", type=pathlib.Path, help="Radiance file of the environment (default: a generated studio)")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="output folder; created if missing")
    parser.add_argument("--plinth", required=True, help="the plinth program")
    parser.add_argument("--examples", type=pathlib.Path, required=True, help="folder with the examples still, radiance")
    parser.add_argument("--modules", type=pathlib.Path, required=True, help="npm folder with three and puppeteer-core")
    parser.add_argument("--chromium", required=True, help="browser in which three.js draws")
    parser.add_argument("--only", metavar="TEXT", help="rows whose names match this regular expression")
    return parser.parse_args()


def main():
    args = arguments()
    out = args.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    make_models.write_all(out / "models")
    folders = [out / "models"] + [folder.resolve() for folder in args.folders]
    env = args.env.resolve() if args.env else out / "studio.hdr"
    if not args.env:
        environment.write(env)
    rows, left_out = row_list.of_folders(folders, env, args.plinth, out / "unpacked")
    rows += row_list.gain_map_rows(env.parent, SAMPLE)
    if args.only:
        rows = [row for row in rows if re.search(args.only, row["id"])]
    (out / "rows.json").write_text(json.dumps(rows, indent=1))
    three, plinth = out / "three", out / "plinth"
    still = args.examples / "still"
    draw_plinth.draw_all(rows, {"plinth": args.plinth, "still": still}, plinth)
    script = [HERE / "three.mjs", out / "rows.json", three, args.modules.resolve(), args.chromium]
    subprocess.run(["node", *map(str, script)], check=True)
    radiance = {row["id"]: radiance_error(args.examples, row) for row in rows if "gain_map" in row}
    entries = page.write(rows, left_out, three, plinth, out, radiance)
    report(entries, radiance)
    print(f"The page is {out / 'index.html'}")


def radiance_error(examples, row):
    """Returns the difference between the radiance of a gain map and of its .hdr file, as Plinth decodes them."""
    command = [examples / "radiance", row["env"], *row["gain_map"]]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    return (done.stdout or done.stderr).strip()


def report(entries, radiance):
    print(f"{'row':52} {'flip':>8} {'outline':>8} {'detail':>8} {'colour':>8} {'light':>8}")
    for one in entries:
        if one["scores"] is None:
            print(f"{one['title'][:52]:52} no pair: {'; '.join(one['said'])[:100]}")
            continue
        numbers = " ".join(f"{value:8.4f}" for value in one["scores"].values())
        print(f"{one['title'][:52]:52} {numbers} {' '.join(one['more'])}")
    for name, words in radiance.items():
        print(f"{name}: {words}")


if __name__ == "__main__":
    main()
