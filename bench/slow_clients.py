#!/usr/bin/env python3
"""Measures the response times of a normal client, first alone and then during many slow connections. Each slow connection sends a
byte every 25 s to an endpoint that takes a body: those of the API and of the web UI, a link for uploads, and the events of Stripe.
Half of the connections have an API key, a session of the web UI or a valid link. These belong to as many accounts as --accounts says:
the server rejects requests of an account that has too many open.

usage: bench/slow_clients.py [--plinth target/debug/plinth] [--connections 2000] [--accounts 1] [--seconds 60]
Prints the largest number of slow connections that were open at the same time, and of those that the server had not answered yet.
Fails when the 99th percentile of the normal client's response times more than doubles, or when one of its requests fails. Needs no
packages.
"""
import argparse
import asyncio
import http.client
import json
import multiprocessing
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

PAUSE_SECS = 25
CRATES = Path(__file__).resolve().parent.parent / "crates"
# Lengths that requests state. They are below the limits of forms of the web UI without files, and of all other bodies.
FORM_BYTES, OTHER_BYTES = 10_000, 60_000
FORM, FILES = "application/x-www-form-urlencoded", "multipart/form-data"
# Replaces the parameters in the paths of routes.
ID = "k3Jd92LmQx7a"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plinth", default="target/debug/plinth")
    parser.add_argument("--connections", type=int, default=2000)
    parser.add_argument("--accounts", type=int, default=1, help="accounts to which the connections with keys belong")
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    if options.accounts < 1:
        parser.error("--accounts must be at least 1")
    return options


class Endpoint(NamedTuple):
    """An endpoint that takes a body. `key` is the header line of a client that may use it."""
    method: str
    path: str
    kind: str
    key: str


class Account(NamedTuple):
    """What a hostile account may use. `key` and `cookie` are header lines. `upload_link` is path and query of a link to which a
    file may be sent."""
    key: str
    cookie: str
    upload_link: str


class Server:
    """A temporary server with an honest account, whose token is `honest`, and some hostile ones."""

    def __init__(self, plinth, accounts):
        self.plinth, self.folder = plinth, tempfile.mkdtemp()
        command = [plinth, "serve", "--no-worker", "--rate-limit-per-minute", "1000000", "--data", self.folder + "/data",
                   "--listen", "127.0.0.1:0"]
        log = open(self.folder + "/log", "w")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        said = ""
        while "openapi.json" not in said:
            line = self.process.stdout.readline()
            if not line:
                sys.exit("the server ended: " + open(self.folder + "/log").read())
            said += line
        self.port = int(re.search(r"serves at http://127.0.0.1:(\d+)", said).group(1))
        self.honest = self.account("honest@example.org")
        self.hostile = [self.hostile_account(f"hostile{number}@example.org") for number in range(accounts)]

    def admin(self, *args):
        command = [self.plinth, "admin", *args, "--data", self.folder + "/data", "--json"]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def account(self, email):
        self.admin("account", "create", email)
        return self.admin("key", "create", "--account", email)["token"]

    def hostile_account(self, email):
        token = self.account(email)
        return Account(f"Authorization: Bearer {token}", "Cookie: " + self.session(email), self.link_for_upload(token))

    def post(self, path, body, headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("POST", path, body, headers)
        response = connection.getresponse()
        text = response.read().decode()
        if response.status >= 400:
            sys.exit(f"slow_clients: POST {path} returned {response.status}: {text}")
        return response, text

    def session(self, email):
        """Signs in, and returns the cookie of the session."""
        link = urlsplit(self.admin("account", "sign-in", email)["url"]).path
        response, _ = self.post(link, "", {"Sec-Fetch-Site": "same-origin", "Content-Type": FORM})
        return response.getheader("Set-Cookie").split(";")[0]

    def link_for_upload(self, token):
        """Returns path and query of a link to which a file may be sent."""
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        _, text = self.post("/v1/models/create-upload-url", "{}", headers)
        link = urlsplit(json.loads(text)["data"]["url"])
        return f"{link.path}?{link.query}"

    def end(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)


def without_parameters(path):
    return re.sub(r"\{\*?\w+\}", ID, path)


def of_api(plinth, account):
    """Returns the endpoints of the API with a body, as the OpenAPI document lists them."""
    document = json.loads(subprocess.run([plinth, "openapi"], check=True, capture_output=True, text=True).stdout)
    base = document.get("servers", [{}])[0].get("url", "/v1").rstrip("/")
    found = []
    for path, operations in sorted(document["paths"].items()):
        for method, operation in sorted(operations.items()):
            for kind in operation.get("requestBody", {}).get("content", {}):
                found.append(Endpoint(method.upper(), base + without_parameters(path), kind, account.key))
    return found


def unsafe_methods(source):
    """Returns the methods of a router's source that may have a body, in upper case."""
    return [method.upper() for method in re.findall(r"\b(post|put|patch)\(", source)]


def routes(file):
    """Returns path, method and source of each route of a Rust file that may have a body. Ends the program if the file has a route
    that is not found, for example because its path is no literal."""
    source = re.sub(r"//.*", "", (CRATES / file).read_text())
    found = []
    # The source of a route ends where the next begins, at the latest.
    for route in source.split(".route(")[1:]:
        path = re.match(r'\s*"([^"]+)"', route)
        found += [(path[1], method, route) for method in unsafe_methods(route) if path]
    if len(found) != len(unsafe_methods(source)):
        sys.exit(f"slow_clients: {file} has {len(unsafe_methods(source))} routes with a body, of which {len(found)} were found")
    return found


def of_pages(account):
    """Returns the endpoints of the web UI with a body, and the one for events of Stripe."""
    found = []
    for path, method, source in routes("plinth-studio/src/router.rs"):
        kind = FILES if "DefaultBodyLimit::disable()" in source else FORM
        kind = "application/json" if path == "/stripe/events" else kind
        found.append(Endpoint(method, without_parameters(path), kind, account.cookie))
    return found


def of_files(account):
    """Returns the link for uploads, which is the only route for requests with a body that the OpenAPI document does not list."""
    listed = [(path, method) for path, method, _ in routes("plinth-api/src/router.rs")]
    if listed != [("/_o/{*path}", "PUT")]:
        sys.exit(f"slow_clients: the API has other routes than that of upload links: {listed}")
    return [Endpoint("PUT", account.upload_link, "application/octet-stream", "")]


def endpoints(plinth, account):
    """Returns all endpoints that take a body, in the same order for each account."""
    found = of_api(plinth, account) + of_pages(account) + of_files(account)
    # If the documents from which the endpoints are read change their form, some of these are missing.
    known = {("POST", "/v1/renders"), ("PATCH", f"/v1/models/{ID}"), ("POST", "/sign-in"), ("POST", f"/models/{ID}"),
             ("POST", f"/models/{ID}/compose"), ("POST", "/environments"), ("POST", "/stripe/events"), ("PUT", account.upload_link)}
    if missing := known - {(one.method, one.path) for one in found}:
        sys.exit(f"slow_clients: these endpoints were not found: {sorted(missing)}")
    return found


def head_of(endpoint, has_key):
    """Returns the head of a request. A client without a key has a link with a wrong signature."""
    path = endpoint.path if has_key else re.sub(r"\bsig=[^&]*", "sig=wrong", endpoint.path)
    kind = endpoint.kind + ("; boundary=x" if endpoint.kind == FILES else "")
    length = FORM_BYTES if endpoint.kind == FORM else OTHER_BYTES
    key = endpoint.key + "\r\n" if has_key and endpoint.key else ""
    return (f"{endpoint.method} {path} HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n"
            f"{key}Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n")


async def until_closed(reader, counts):
    """Reads until the server closes the connection. The request counts as unanswered until the first byte of the response."""
    counts["unanswered"] += 1
    counts["most unanswered"] = max(counts["most unanswered"], counts["unanswered"])
    try:
        await reader.read(1)
    except OSError:
        pass
    finally:
        counts["unanswered"] -= 1
    try:
        await reader.read()
    except OSError:
        pass


async def slow(port, head, until, counts):
    """Sends requests whose bodies are never complete, one after another until the time `until`. Sends a byte of a body every 25 s,
    also if the server has ended the request before."""
    while time.monotonic() < until:
        begin = time.monotonic()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            counts["refused"] += 1
            await asyncio.sleep(0.5)
            continue
        counts["open"] += 1
        counts["most open"] = max(counts["most open"], counts["open"])
        ended = asyncio.ensure_future(until_closed(reader, counts))
        try:
            writer.write(head.encode())
            while not ended.done() and time.monotonic() < until:
                begin = time.monotonic()
                writer.write(b" ")
                await writer.drain()
                left = max(0.0, min(PAUSE_SECS, until - time.monotonic()))
                await asyncio.wait([ended], timeout=left)
            counts["ended by the server"] += ended.done()
        except OSError:
            pass
        finally:
            ended.cancel()
            await asyncio.wait([ended])
            counts["open"] -= 1
            writer.close()
        await asyncio.sleep(max(0.0, min(begin + PAUSE_SECS, until) - time.monotonic()))


def run_crowd(port, found, connections, until):
    """Keeps this many slow connections open until the time `until`, and prints how they fared. `found` has the endpoints of each
    hostile account."""
    asyncio.run(crowd(port, found, connections, until))


async def crowd(port, found, connections, until):
    counts = {"open": 0, "most open": 0, "unanswered": 0, "most unanswered": 0, "refused": 0, "ended by the server": 0}
    tasks = []
    for number in range(connections):
        # Two successive connections, of which one has a key, send to the same endpoint.
        pair = number // 2
        of_account = found[pair % len(found)]
        head = head_of(of_account[pair % len(of_account)], has_key=number % 2 == 0)
        tasks.append(asyncio.ensure_future(slow(port, head, until, counts)))
        if number % 100 == 99:
            await asyncio.sleep(0.05)
    await asyncio.gather(*tasks)
    print(f"{connections} slow connections: most open {counts['most open']}, most unanswered {counts['most unanswered']}, "
          f"refused {counts['refused']}, ended by the server {counts['ended by the server']}", flush=True)


async def ask(port, token, method, path, body=b""):
    """Sends a request on a new connection. Returns the status of the response and the time that it took."""
    begin = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = (f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n")
    writer.write(head.encode() + body)
    answer = await reader.read()
    writer.close()
    return int(answer.split(b" ", 2)[1]), time.monotonic() - begin


async def honest(port, token, until):
    quote = json.dumps({"renders": [{}]}).encode()
    times, failed = [], 0
    while time.monotonic() < until:
        for request in (("GET", "/v1/account", b""), ("POST", "/v1/quote", quote), ("GET", "/v1/renders", b"")):
            try:
                status, took = await asyncio.wait_for(ask(port, token, *request), 60)
                failed += status != 200
            except (OSError, IndexError, asyncio.TimeoutError):
                failed, took = failed + 1, 60.0
            times.append(took)
        await asyncio.sleep(0.02)
    return sorted(times), failed


def summary(what, times, failed):
    at = lambda percent: times[(len(times) - 1) * percent // 100] * 1000
    print(f"{what}: {len(times)} requests, p50 {at(50):.1f} ms, p99 {at(99):.1f} ms, {failed} failed", flush=True)
    return at(99)


async def main():
    options = arguments()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    server = Server(os.path.abspath(options.plinth), options.accounts)
    try:
        found = [endpoints(server.plinth, account) for account in server.hostile]
        listed = ", ".join(f"{one.method} {one.path.split('?')[0]}" for one in found[0])
        print(f"{len(found[0])} endpoints take a body: {listed}")
        if options.connections < 2 * len(found[0]):
            sys.exit(f"slow_clients: {2 * len(found[0])} connections are needed to reach each endpoint with and without a key")
        before = summary("alone", *await honest(server.port, server.honest, time.monotonic() + options.seconds / 3))
        until = time.monotonic() + options.seconds + 5
        # A process of their own: 2000 connections would delay the normal client in one event loop.
        crowd = multiprocessing.Process(target=run_crowd, args=(server.port, found, options.connections, until))
        crowd.start()
        await asyncio.sleep(5)
        during = summary("meanwhile", *(result := await honest(server.port, server.honest, until)))
        crowd.join()
        if result[1] or during > 2 * before:
            sys.exit(f"slow_clients: {result[1]} honest requests failed, p99 {during:.1f} ms against {before:.1f} ms")
    finally:
        server.end()


if __name__ == "__main__":
    asyncio.run(main())
