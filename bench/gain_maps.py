#!/usr/bin/env python3
"""Reads the gain maps of `plinth environment encode` with the loader of three.js, and compares the radiances.

Installs three and @monogrid/gainmap-js with npm into target/gain-maps, and runs them in a headless Chromium. They read both the
gain maps and the panoramas (.hdr), so that no reader of Plinth is involved. Fails if a median error is above 2 %.

usage: bench/gain_maps.py PANORAMA.hdr...
"""

import argparse
import json
import os
import subprocess
import tempfile
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ["three@0.187.0", "@monogrid/gainmap-js@3.7.3"]
# Largest accepted median of the relative errors. In bright environments, the steps of the quantised gain have this size.
MEDIAN = 0.02
TIMEOUT_SECS = 300

PAGE = """<!doctype html><script type="importmap">{"imports": {
  "three": "/node_modules/three/build/three.module.js", "three/addons/": "/node_modules/three/examples/jsm/",
  "@monogrid/gainmap-js": "/node_modules/@monogrid/gainmap-js/dist/decode.js"}}</script>
<script type="module">
import { DataUtils, FloatType, WebGLRenderer } from "three";
import { HDRLoader } from "three/addons/loaders/HDRLoader.js";
import { GainMapLoader } from "@monogrid/gainmap-js";

async function compare(name) {
  const original = await new HDRLoader().setDataType(FloatType).loadAsync(`/${name}.hdr`);
  const { data, width, height } = original.image;
  const loader = new GainMapLoader(new WebGLRenderer());
  const files = ["sdr.webp", "gainmap.webp", "json"].map((end) => `/${name}.${end}`);
  const decoded = await loader.loadAsync(files);
  const [w, h] = [decoded.width, decoded.height];
  if (w !== width || h !== height) throw new Error(`${w}x${h} instead of ${width}x${height}`);
  const halves = decoded.toArray();
  // The rows of a render target may begin at the bottom, so the errors are computed for both orders of rows.
  const error = (row) => {
    const errors = [];
    for (let y = 0; y < height; y += 2) {
      for (let x = 0; x < width; x += 2) {
        const [a, b] = [4 * (y * width + x), 4 * (row(y) * width + x)];
        // Compares the brightest channel of each texel, because dark channels are quantised coarsely. 65504 is the largest half float.
        const light = Math.max(data[a], data[a + 1], data[a + 2]);
        if (light < 0.01 || light > 65504) continue;
        const read = Math.max(...[0, 1, 2].map((c) => DataUtils.fromHalfFloat(halves[b + c])));
        errors.push(Math.abs(read - light) / light);
      }
    }
    errors.sort((p, q) => p - q);
    const at = (share) => errors[Math.floor((errors.length - 1) * share)];
    return { texels: errors.length, median: at(0.5), p99: at(0.99), largest: at(1) };
  };
  const [same, flipped] = [error((y) => y), error((y) => height - 1 - y)];
  return { name, width, height, ...(same.median < flipped.median ? same : flipped) };
}

const results = [];
try {
  for (const name of NAMES) results.push(await compare(name));
} catch (problem) {
  results.push({ problem: String(problem?.stack ?? problem) });
}
await fetch("/results", { method: "POST", body: JSON.stringify(results) });
</script>"""


def serve(folder: Path, page: str):
    results, arrived = [], Event()

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=folder)

        def do_GET(self):
            if self.path != "/":
                return super().do_GET()
            body = page.encode()
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            return self.wfile.write(body)

        def do_POST(self):
            results.extend(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(204)
            self.end_headers()
            arrived.set()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return server, results, arrived


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("panoramas", nargs="+", type=Path, metavar="PANORAMA.hdr")
    panoramas = parser.parse_args().panoramas
    plinth = os.environ.get("PLINTH", ROOT / "target/debug/plinth")
    folder = ROOT / "target/gain-maps"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", *PACKAGES], cwd=folder, check=True)
    for panorama in panoramas:
        encode = [plinth, "environment", "encode", panorama, "-o", folder]
        subprocess.run(encode, check=True, stdout=subprocess.DEVNULL)
        (folder / f"{panorama.stem}.hdr").write_bytes(panorama.read_bytes())
    names = json.dumps([panorama.stem for panorama in panoramas])
    server, results, arrived = serve(folder, PAGE.replace("NAMES", names))
    with tempfile.TemporaryDirectory() as profile:
        flags = ["--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
        address = f"http://127.0.0.1:{server.server_port}/"
        browser = subprocess.Popen(["chromium", *flags, f"--user-data-dir={profile}", address], stderr=subprocess.DEVNULL)
        arrived.wait(TIMEOUT_SECS)
        browser.terminate()
        browser.wait()
    problems = [result["problem"] for result in results if "problem" in result]
    if problems or len(results) != len(panoramas):
        raise SystemExit(problems or "the browser sent no results")
    print(f"{'panorama':32} {'size':>10} {'texels':>8} {'median':>8} {'99 %':>8} {'largest':>8}")
    for result in results:
        size = f"{result['width']}x{result['height']}"
        errors = " ".join(f"{result[key] * 100:7.2f}%" for key in ["median", "p99", "largest"])
        print(f"{result['name']:32} {size:>10} {result['texels']:8} {errors}")
    raise SystemExit(any(result["median"] > MEDIAN for result in results))


if __name__ == "__main__":
    main()
