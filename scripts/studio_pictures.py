"""Writes screenshots of the web UI to docs/images/studio, with Chromium and a temporary server. Look at them afterwards.

usage: scripts/tools.sh test $(scripts/find.sh python) scripts/studio_pictures.py [FOLDER]

With FOLDER, each screen is also written there in three widths, light and dark. Some screenshots in
docs/images/studio are not made by this script but by hand, because they show models that are not in the repository.
"""

import base64
import io
import json
import math
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
PLINTH = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "debug/plinth"
DOCS = ROOT / "docs/images/studio"
ADA, BOB = "ada@example.org", "bob@example.org"
WIDTHS = (360, 1280, 2560)
COLORS = ("light", "dark")
MAX_HEIGHT = 1400


def vase(radii):
    """Returns a GLB of a surface of revolution."""
    columns = 64
    points = [
        (radius * math.cos(turn), 2 * row / (len(radii) - 1), radius * math.sin(turn))
        for row, radius in enumerate(radii)
        for turn in (2 * math.pi * column / columns for column in range(columns))
    ]
    faces = []
    for row in range(len(radii) - 1):
        for column in range(columns):
            low, high = row * columns + column, (row + 1) * columns + column
            next_low, next_high = row * columns + (column + 1) % columns, (row + 1) * columns + (column + 1) % columns
            faces += [low, high, next_low, next_low, high, next_high]
    positions = b"".join(struct.pack("<3f", *point) for point in points)
    buffer = positions + struct.pack(f"<{len(faces)}I", *faces)
    document = {
        "asset": {"version": "2.0", "generator": "studio_pictures.py"},
        "scenes": [{"nodes": [0]}],
        "scene": 0,
        "nodes": [{"mesh": 0, "name": "Body"}],
        "meshes": [{"name": "Body", "primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "material": 0}]}],
        "materials": [{"name": "Glaze", "doubleSided": True, "pbrMetallicRoughness": {
            "baseColorFactor": [0.05, 0.25, 0.3, 1], "metallicFactor": 0, "roughnessFactor": 0.25}}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": len(points), "type": "VEC3",
             "min": [min(p[i] for p in points) for i in range(3)], "max": [max(p[i] for p in points) for i in range(3)]},
            {"bufferView": 1, "componentType": 5125, "count": len(faces), "type": "SCALAR"},
        ],
        "bufferViews": [{"buffer": 0, "byteLength": len(positions)},
                        {"buffer": 0, "byteOffset": len(positions), "byteLength": len(buffer) - len(positions)}],
        "buffers": [{"byteLength": len(buffer)}],
    }
    return glb(document, buffer)


def glb(document, buffer):
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    size = 28 + len(text) + len(buffer)
    return struct.pack("<4sII", b"glTF", 2, size) + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack(
        "<I4s", len(buffer), b"BIN\0") + buffer


def too_large():
    """Returns a GLB that the check accepts and the renderer rejects."""
    buffer = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0)
    return glb({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "name": "huge", "translation": [3e38, 0, 0], "scale": [3e38, 1, 1]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}], "buffers": [{"byteLength": 36}],
    }, buffer)


def gradient(size, first, last):
    """Returns a PNG with a colour gradient."""
    picture = Image.linear_gradient("L").resize(size)
    bands = [picture.point(lambda v, a=a, b=b: a + (b - a) * v // 255) for a, b in zip(first, last)]
    out = io.BytesIO()
    Image.merge("RGB", bands).save(out, "PNG")
    return out.getvalue()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Installation:
    """A server with a worker and an empty database."""

    def __init__(self, folder):
        self.data = folder / "data"
        port = free_port()
        self.base = f"http://127.0.0.1:{port}"
        self.log = folder / "log"
        command = [PLINTH, "serve", "--data", self.data, "--listen", f"127.0.0.1:{port}", "--rate-limit-per-minute", "100000"]
        self.process = subprocess.Popen(command, stdout=self.log.open("wb"), stderr=subprocess.STDOUT)

    def admin(self, *args):
        done = subprocess.run([PLINTH, "admin", *args, "--data", self.data], check=True, capture_output=True, text=True)
        return done.stdout

    def link(self, email):
        return re.search(r"/sign-in/[\w-]+", self.admin("account", "sign-in", email))[0]

    def logged(self, pattern):
        for _try in range(100):
            if found := re.search(pattern, self.log.read_text()):
                return found[0]
            time.sleep(0.1)
        raise SystemExit(f"the log has no {pattern}")


class Browser:
    """Chromium, by the HTTP interface of chromedriver."""

    def __init__(self, base, all_pictures):
        port = free_port()
        self.process = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL)
        self.base, self.all_pictures, self.session = base, all_pictures, f"http://127.0.0.1:{port}"
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]}
        wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}}
        self.session += "/session/" + again(lambda: self.call("/session", wanted))["sessionId"]

    def call(self, path, body):
        request = urllib.request.Request(self.session + path, json.dumps(body).encode(), {"content-type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["value"]

    def devtools(self, command, parameters):
        return self.call("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def run(self, script):
        return self.call("/execute/sync", {"script": script, "args": []})

    def open(self, path):
        self.call("/url", {"url": self.base + path})

    def until(self, expression):
        for _try in range(1200):
            if self.run(f"return Boolean({expression})"):
                return
            time.sleep(0.1)
        raise SystemExit(f"never: {expression}; the page: {self.run('return document.body.innerText')}")

    def send(self, path, fields, files=()):
        """Sends a form in the way a script of the page does, and returns the response as text."""
        values = [[name, value] for name, value in fields.items()]
        blobs = [[name, base64.b64encode(content).decode(), file] for name, file, content in files]
        return self.run(f"""
            return (async () => {{
              const body = new FormData();
              body.set("form_token", document.querySelector("[name=form_token]").value);
              for (const [name, value] of {json.dumps(values)}) body.append(name, value);
              for (const [name, content, file] of {json.dumps(blobs)})
                body.append(name, new Blob([Uint8Array.from(atob(content), (c) => c.charCodeAt(0))]), file);
              const sent = {json.dumps(bool(files))} ? body : new URLSearchParams(body);
              const answer = await fetch({json.dumps(path)}, {{ method: "POST", body: sent }});
              if (!answer.ok) throw new Error(await answer.text());
              return `${{answer.url}}\\n${{await answer.text()}}`;
            }})();""")

    def size(self, width, height):
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.devtools("Emulation.setDeviceMetricsOverride", metrics)

    def shoot(self, width, colors):
        self.devtools("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": colors}]})
        self.size(width, 480)
        self.until(f"window.innerWidth === {width}")
        self.size(width, min(MAX_HEIGHT, self.run("return document.documentElement.scrollHeight")))
        self.until("[...document.images].every((one) => one.complete)")
        picture = self.devtools("Page.captureScreenshot", {"format": "png"})["data"]
        return Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")

    def take(self, name, path=None, shown="main"):
        """Waits until a page has an element, and takes screenshots of the page. Without a path, takes the open page."""
        if path is not None:
            self.open(path)
        self.until(f"document.readyState === 'complete' && document.querySelector({json.dumps(shown)})")
        if self.all_pictures:
            for width in WIDTHS:
                for colors in COLORS:
                    self.shoot(width, colors).save(self.all_pictures / f"{name}-{width}-{colors}.png")
        self.shoot(1280, "light").save(DOCS / f"{name}.webp", quality=70, method=6)
        print(name, flush=True)


def again(act):
    """Calls a function until it succeeds, because a server needs a moment to start."""
    for attempt in range(100):
        try:
            return act()
        except OSError:
            if attempt == 99:
                raise
            time.sleep(0.1)


def found_team(browser):
    """Creates a team. Returns the paths of its page and of an invitation."""
    team = re.match(r"\S+(/teams/\w+)", browser.send("/teams", {"name": "Studio North"}))[1]
    browser.open(team)
    invited = browser.send(f"{team}/invite", {"email": "", "role": "editor"})
    # The session is in the workspace of the team now.
    browser.run("document.querySelector('button[name=workspace]').click()")
    browser.until("document.querySelector('.where')?.textContent === 'Personal'")
    return team, re.search(r"/join/[\w-]+", invited)[0]


def furnish(browser):
    """Creates models, renders, images and a look. Returns the paths of the pages of the models and of a failed render."""
    settings = {"quality": "share", "length": "0.5", "bgColor": "#dfe7ee", "action": "order"}
    shapes = {"Vase": [0.35, 0.5, 0.62, 0.66, 0.6, 0.45, 0.28, 0.22, 0.25, 0.34], "Tumbler": [0.4, 0.46, 0.51, 0.55, 0.58, 0.6]}
    models = {}
    for name, radii in shapes.items():
        answer = browser.send("/models", {}, [("file", f"{name.lower()}.glb", vase(radii))])
        models[name] = re.match(r"\S+(/models/\w+)", answer)[1]
        browser.send(models[name], {"title": name, "sku": f"{name.upper()}-001", "tags": "ceramics"})
        browser.send(f"{models[name]}/compose", settings | {"shadows": "on"})
    helmet = ROOT / "fixtures/models/flight_helmet.glb"
    browser.send("/models", {}, [("file", helmet.name, helmet.read_bytes())])
    answer = browser.send("/models", {}, [("file", "far-away.glb", too_large())])
    broken = re.match(r"\S+(/models/\w+)", answer)[1]
    failed = re.match(r"\S+(/renders/\w+)", browser.send(f"{broken}/compose", settings))[1]
    for kind, name, size, first, last in [
        ("decal", "logo.png", (400, 200), (200, 60, 40), (90, 20, 60)),
        ("background", "evening.png", (1600, 900), (20, 30, 70), (250, 170, 110)),
        ("background", "wall.png", (900, 900), (230, 226, 220), (170, 165, 160)),
        ("texture", "oak.png", (512, 512), (190, 150, 100), (120, 85, 50)),
        ("texture", "walnut.png", (512, 512), (110, 75, 50), (60, 40, 30)),
    ]:
        browser.send("/images", {"kind": kind}, [("file", name, gradient(size, first, last))])
    browser.send(f"{models['Vase']}/compose", {"action": "save-look", "look_name": "Catalogue", "bgColor": "#f4f1ea", "zoom": "0.9"})
    return models, failed


def take_all(server, browser):
    server.admin("account", "create", ADA)
    server.admin("account", "create", BOB)
    server.admin("account", "make-admin", ADA, "--reason", "runs this installation")
    browser.take("sign-in", "/", "#email")
    browser.take("sign-in-link", server.link(ADA), "main button")
    browser.run("document.querySelector('main button').click()")
    browser.until("document.querySelector('h1')?.textContent === 'Models'")
    team, invitation = found_team(browser)
    models, failed = furnish(browser)
    vase_page = models["Vase"]
    browser.take("render-failed", failed, ".head .status.error")
    browser.open("/renders")
    browser.until("document.querySelectorAll('.render .status.done').length >= 2 && !document.querySelector('.live-render progress')")
    browser.take("renders", "/renders", ".render img")
    browser.open("/")
    browser.until("document.querySelectorAll('.tile img').length >= 3")
    browser.run("document.querySelector('.tile:has(img) .pick input').click()")
    browser.take("library", None, ".tile img")
    browser.take("images", "/images", ".image img")
    image = browser.run("return document.querySelector('.image .delete').pathname")
    browser.take("image-delete", image, "button.danger")
    browser.take("model-delete", f"{vase_page}/delete", "button.danger")
    browser.take("account", "/account", "main form")
    browser.open("/keys")
    browser.run("document.querySelector('#name').value = 'Shop import'; document.querySelector('main form button.main').click()")
    browser.until("location.pathname === '/keys' && document.querySelector('main code')")
    browser.take("key-created", None, "main code")
    browser.take("keys", "/keys", "tbody tr")
    browser.take("key-revoke", browser.run("return document.querySelector('tbody a').pathname"), "button.danger")
    browser.take("teams", "/teams", "main form")
    browser.take("team-delete", f"{team}/delete", "button.danger")
    browser.take("admin-accounts", "/admin/accounts", "tbody a")
    browser.take("admin-assets", "/admin/assets", "main form")
    browser.take("admin-log", "/admin/log", "tbody")
    browser.open("/")
    browser.run("""
        for (const tile of [...document.querySelectorAll('.tile')].slice(-2)) tile.querySelector('.pick input').click();
        document.querySelector('button[value=render]').click();""")
    browser.take("look-order", None, "form.look-order")
    browser.open("/account")
    browser.run("document.querySelector('form[action$=\"/sign-out\"] button').click()")
    browser.until("document.querySelector('#email')")
    browser.take("join", invitation, "main form")
    browser.take("recovery", "/password/forgot", "#email")
    browser.run("document.querySelector('#email').value = 'bob@example.org'; document.querySelector('main form button').click()")
    browser.take("recovery-new", server.logged(r"/password/new/[\w-]+"), "#password")


def main():
    all_pictures = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    if all_pictures:
        all_pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        server = Installation(Path(folder))
        again(lambda: urllib.request.urlopen(f"{server.base}/livez"))
        browser = Browser(server.base, all_pictures)
        try:
            take_all(server, browser)
        finally:
            for process in (browser.process, server.process):
                process.terminate()
                process.wait()


main()
