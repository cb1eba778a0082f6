#!/usr/bin/env python3
"""Renders every setting with several values on two models, and fills in the page OUT/index.html.

rows.json lists what is shown. Each row has
  key       the setting; rows with the same key are distinguished by a `part`
  values    the values; null leaves the setting unset
  labels    the captions, if they are not the values
  base      settings that all pictures of the row share; baseOf, valuesOf, labelsOf: such settings, values or labels by model
  models    names of models, if not all
  detail    centre of a detail that is shown without scaling, as fractions of width and height
  film      frames over time instead of one
  note      a sentence that the page shows
  test      the function in the crates that measures the effect
  unseen    why there is nothing to see; replaces `values`

Needs Pillow and NumPy. The second model, the images and the panorama are made by still_life.py.
"""

import argparse
import concurrent.futures
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs" / "gallery" / "index.html"
STYLE = PAGE.with_name("gallery.css")
BUILT = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "plinth"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    helmet = ROOT / "fixtures" / "models" / "flight_helmet.glb"
    parser.add_argument("model", nargs="?", type=pathlib.Path, default=helmet, help="first model; the second one is generated")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs" / "gallery", help="folder of the page")
    parser.add_argument("--only", nargs="+", metavar="KEY", help="redraw only these settings")
    parser.add_argument("--missing", action="store_true", help="draw only missing pictures")
    parser.add_argument("--jobs", type=int, default=1, help="number of rows drawn in parallel")
    parser.add_argument("--plinth", default=os.environ.get("PLINTH", str(BUILT)), help="program to call")
    return parser.parse_args()


def table(plinth):
    """Returns the names of all settings with their descriptions, in the order of `plinth settings`."""
    text = subprocess.run([plinth, "settings"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", text, re.MULTILINE)


def file_name(row, model):
    part = re.sub(r"[^a-zA-Z0-9]+", "-", row.get("part", "")).strip("-")
    return "-".join(filter(None, [row["key"], part, model])) + ".webp"


def text_of(value):
    return value if isinstance(value, str) else "unset" if value is None else json.dumps(value)


def figure(row, model, out):
    name = file_name(row, model)
    if not (out / name).is_file():
        return ""
    values = row["values"]
    labels = row.get("labelsOf", {}).get(model, row.get("labels", [text_of(value) for value in values]))
    shape = "film" if row.get("film") else "strip"
    spans = "".join(f"<span>{html.escape(label)}</span>" for label in labels)
    picture = f'<img loading="lazy" src="{name}" alt="{html.escape(model)}: {html.escape(", ".join(labels))}">'
    return f'<figure class="{shape}" style="--count: {len(labels)}">{picture}<figcaption>{spans}</figcaption></figure>'


def page(settings, rows, models, out):
    sections = []
    for key, words in settings:
        own = [row for row in rows if row["key"] == key]
        words = re.sub("`([^`]*)`", r"<code>\1</code>", html.escape(words))
        body = [f'<h2 id="{key}"><code>{key}</code></h2><p>{words}</p>']
        for row in own:
            if "part" in row:
                body.append(f"<h3><code>{html.escape(row['part'])}</code></h3>")
            if "note" in row or "unseen" in row:
                body.append(f"<p>{html.escape(row.get('note', row.get('unseen')))}</p>")
            if "values" in row:
                figures = "".join(figure(row, model, out) for model in row.get("models", models))
                body.append(f'<div class="models">{figures}</div>')
        sections.append("<section>" + "\n".join(body) + "</section>")
    contents = " ".join(f'<a href="#{key}">{key}</a>' for key, _ in settings)
    for file in (PAGE, STYLE):
        if not (out / file.name).is_file():
            shutil.copy(file, out)
    text = between((out / PAGE.name).read_text(), "contents", contents)
    (out / PAGE.name).write_text(between(text, "rows", "\n" + "\n".join(sections) + "\n"))


def between(text, name, content):
    """Replaces the text between the comments <!-- name --> and <!-- /name -->."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, after = text.index(begin) + len(begin), text.index(end)
    return text[:before] + content + text[after:]


def main():
    args = arguments()
    try:
        import draw
        import still_life
    except ImportError as error:
        sys.exit(f"gallery: {error.name} is missing; `make gallery` finds a Python that has it")
    rows = json.loads((HERE / "rows.json").read_text())
    settings = table(args.plinth)
    shown = {row["key"] for row in rows}
    missing = [key for key, _ in settings if key not in shown]
    if missing:
        sys.exit(f"gallery: rows.json has no row for {', '.join(missing)}")
    args.out.mkdir(parents=True, exist_ok=True)
    wanted = [row for row in rows if "values" in row and (not args.only or row["key"] in args.only)]
    with tempfile.TemporaryDirectory() as work:
        files = still_life.write_all(pathlib.Path(work) / "files")
        models = {args.model.stem: args.model, "still_life": files["still_life"]}
        studio = draw.Studio(args.plinth, files, work)

        def picture(task):
            row, model = task
            drawn = draw.strip(studio, row, model, models[model])
            drawn.save(args.out / file_name(row, model), quality=draw.QUALITY, method=6)
            return f"{row['key']} {row.get('part', '')} {model}"

        tasks = [(row, model) for model in reversed(models) for row in wanted if model in row.get("models", models)]
        if args.missing:
            tasks = [(row, model) for row, model in tasks if not (args.out / file_name(row, model)).is_file()]
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            done = concurrent.futures.as_completed([pool.submit(picture, task) for task in tasks])
            for i, task in enumerate(done):
                print(f"{i + 1}/{len(tasks)} {task.result()}", flush=True)
    page(settings, rows, list(models), args.out)
    size = sum(file.stat().st_size for file in args.out.iterdir())
    print(f"{args.out / 'index.html'}: {len(settings)} settings, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
