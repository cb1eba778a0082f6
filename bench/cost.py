#!/usr/bin/env python3
"""Measures what videos cost: processor time and file size by model and tier, with all outputs, and the price of 1000 videos.

usage: bench/cost.py [MODEL.glb ...]      default: the sample model in fixtures/

Prints a row for each model and tier: the processor time in seconds, how much of it the software driver and the encoders take,
the size of all files, and the price of 1000 such videos on a node without and on a node with a graphics card. Processor times
can be compared even if the machine does other work, which increases them by some percent. The price with a card is an estimate:
it includes all processor time except the driver's, as if the card drew at the same time and the processors never waited for it.
Packaging for streaming is not included. The cache of baked light is not used. Drawing is measured only with lavapipe.

variables:
  TIERS      default: "share standard 4k pro dataset"
  LENGTH     seconds of video (default: 6)
  NODE       dollars an hour and vCPUs of a node without a card (default: "0.09 2")
  GPU_NODE   the same for a node with a card (default: "0.80 4")
  PLINTH     the program (default: target/debug/plinth)
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TICKS = os.sysconf("SC_CLK_TCK")
ENDINGS = {"pro": ".mov", "dataset": ".zip"}


def seconds(stat):
    """Returns the processor time in a stat file of /proc, in seconds, without the time of children."""
    try:
        fields = stat.read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def drawing(process):
    """Returns the processor time of each thread of the driver, in seconds, by thread number."""
    found = {}
    for task in process.glob("task/*"):
        try:
            if (task / "comm").read_text().startswith("llvmpipe"):
                found[task.name] = seconds(task / "stat")
        except OSError:
            pass
    return found


def measure(plinth, model, tier, length):
    """Renders a video with all outputs. Returns processor seconds (in all, of drawing, of the encoders), elapsed seconds, and bytes."""
    with tempfile.TemporaryDirectory(prefix="plinth-cost-") as folder:
        output = Path(folder) / ("out" + ENDINGS.get(tier, ".mp4"))
        command = [plinth, "render", str(model), "-o", str(output), "--quiet"]
        if tier != "dataset":
            command += ["--all", "--quality", tier, "--length", length]
        begin = time.monotonic()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        process, drawn, own = Path(f"/proc/{child.pid}"), {}, 0.0
        while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            drawn.update(drawing(process))
            own = max(own, seconds(process / "stat"))
            time.sleep(0.1)
        own = max(own, seconds(process / "stat"))
        _, status, used = os.wait4(child.pid, 0)
        if status:
            sys.exit(f"cost: {' '.join(command)} failed")
        total = used.ru_utime + used.ru_stime
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        return total, sum(drawn.values()), total - own, time.monotonic() - begin, size


def price(node, busy):
    """Returns the price of 1000 videos that each take `busy` processor seconds on a node whose processors are all busy."""
    dollars, processors = map(float, node.split())
    return 1000 * busy / processors / 3600 * dollars


def main(models):
    plinth = os.environ.get("PLINTH") or str(ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "debug/plinth")
    length = os.environ.get("LENGTH", "6")
    node, gpu_node = os.environ.get("NODE", "0.09 2"), os.environ.get("GPU_NODE", "0.80 4")
    os.environ["PLINTH_CACHE_MB"] = "0"
    print("| model | tier | processor s | of them drawing | encoders | MB | $ per 1000 | with a card, estimate |")
    print("|---|---|---|---|---|---|---|---|")
    for model in models or [ROOT / "fixtures/models/flight_helmet.glb"]:
        for tier in os.environ.get("TIERS", "share standard 4k pro dataset").split():
            total, drawn, encoders, clock, size = measure(plinth, model, tier, length)
            print(f"| {Path(model).stem} | {tier} | {total:.1f} | {drawn:.1f} | {encoders:.1f} | {size / 1e6:.1f} "
                  f"| {price(node, total):.2f} | {price(gpu_node, total - drawn):.2f} |", flush=True)
            print(f"cost: {Path(model).stem} {tier}: {clock:.0f} s by the clock", file=sys.stderr)


if __name__ == "__main__":
    if {"-h", "--help"} & set(sys.argv):
        print(__doc__)
    else:
        main(sys.argv[1:])
