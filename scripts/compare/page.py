"""Writes the page of the comparison: a table of all rows, sorted by difference."""

import html
import json
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

from score import LIMITS, error_picture, load, more_than_light, score

STYLE = """
body { font: 15px/1.4 system-ui, sans-serif; margin: 1.5rem; }
table { border-collapse: collapse; }
th, td { border-bottom: 1px solid #ccc; padding: .4rem .6rem; text-align: left; vertical-align: top; }
th { position: sticky; top: 0; background: #fff; }
img { display: block; width: 256px; height: 256px; margin-bottom: .3rem; }
.more { background: #fff3e8; }
.name { max-width: 22rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: auto auto; gap: 0 .8rem; margin: .3rem 0; }
dd { margin: 0; font-variant-numeric: tabular-nums; }
.over { color: #b00; font-weight: 600; }
.said { color: #666; font-size: 13px; }
"""


def write(rows, left_out, three, plinth, out, radiance):
    """Scores all rows, writes OUT/index.html, OUT/scores.json and the difference pictures; returns the scores.

    `radiance` contains, for each row of a gain map, a text about the difference between its radiance and the .hdr file.
    """
    (out / "difference").mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor() as workers:
        entries = list(workers.map(entry, rows, repeat(three), repeat(plinth), repeat(out)))
    entries.sort(key=lambda e: -e["scores"]["flip"] if e["scores"] else -2)
    (out / "scores.json").write_text(json.dumps(entries, indent=1))
    counted = [e for e in entries if e["scores"]]
    more = sum(bool(e["more"]) for e in counted)
    limits = ", ".join(f"{name} over {limit}" for name, limit in LIMITS.items())
    parts = [
        f"<!doctype html><meta charset=utf-8><title>Plinth and three.js</title><style>{STYLE}</style>",
        "<h1>Plinth beside three.js</h1>",
        f"<p>{len(rows)} rows, {more} of them with more than light between the pictures ({limits}), "
        f"{len(rows) - len(counted)} without a pair. Mean FLIP error on the model "
        f"{sum(e['scores']['flip'] for e in counted) / max(len(counted), 1):.4f}. Gain maps are shown beside the .hdr file "
        "they were made from, both drawn by Plinth.</p>",
        "<table><tr><th>model<th>three.js<th>Plinth<th>difference</tr>",
    ]
    parts += [table_row(e, radiance) for e in entries]
    parts.append("</table>")
    if left_out:
        parts.append("<h2>Not drawn, because Plinth rejects them</h2><ul>")
        parts += [f"<li>{html.escape(name)}: {html.escape(why)}" for name, why in left_out]
        parts.append("</ul>")
    (out / "index.html").write_text("\n".join(parts) + "\n")
    return entries


def entry(row, three, plinth, out):
    """Builds one row with the mean scores of its shots, or with the reason why it was not drawn."""
    one = {"id": row["id"], "title": row["title"], "scores": None, "more": [], "pictures": [], "said": []}
    for who, folder in (("three.js", three), ("Plinth", plinth)):
        note = folder / f"{row['id']}.json"
        said = json.loads(note.read_text()) if note.exists() else {}
        one["said"] += [f"{who}: {words}" for words in said.get("warnings", [])]
        if "problem" in said:
            one["said"].append(f"{who} failed: {said['problem']}")
    pairs = []
    for n, shot in enumerate(row["shots"]):
        other = plinth / f"{row['id']}.hdr.{n}.png" if "gain_map" in row else three / f"{row['id']}.{n}.png"
        own = plinth / f"{row['id']}.{n}.png"
        if not (other.exists() and own.exists()):
            return one
        scores, errors = score(load(other), load(own), row["background"])
        difference = out / "difference" / f"{row['id']}.{n}.png"
        error_picture(errors).save(difference)
        pairs.append(scores)
        files = [str(p.relative_to(out)) for p in (other, own, difference)]
        one["pictures"].append({"time": shot["time"] if row["clip"] is not None else None, "files": files})
    one["scores"] = {name: sum(s[name] for s in pairs) / len(pairs) for name in pairs[0]}
    worst = {name: max(s[name] for s in pairs) for name in pairs[0]}
    one["more"] = more_than_light(worst)
    return one


def table_row(one, radiance):
    def cell(which):
        images = [f'<img loading=lazy src="{html.escape(p["files"][which])}" alt="">' for p in one["pictures"]]
        return "<td>" + "".join(images)

    name = f"<strong>{html.escape(one['title'])}</strong>"
    times = [f"{p['time']:.3f} s" for p in one["pictures"] if p["time"] is not None]
    if times:
        name += f"<p>at {', '.join(times)}</p>"
    if one["id"] in radiance:
        name += f"<p>{html.escape(radiance[one['id']])}</p>"
    if one["scores"]:
        over = ["", ' class="over"']
        pairs = [f"<dt>{k}<dd{over[k in one['more']]}>{v:.4f}" for k, v in one["scores"].items()]
        name += "<dl>" + "".join(pairs) + "</dl>"
    name += "".join(f'<p class="said">{html.escape(words[:300])}</p>' for words in one["said"])
    cells = "".join(cell(which) for which in range(3)) if one["pictures"] else "<td>–<td>–<td>–"
    mark = ' class="more"' if one["more"] or not one["scores"] else ""
    return f'<tr id="{html.escape(one["id"])}"{mark}><td class="name">{name}{cells}</tr>'
