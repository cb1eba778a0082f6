#!/usr/bin/env python3
"""Measures the response times of a normal client, first alone and then during many slow connections. Each slow connection sends a byte
every 25 s to an endpoint that takes a body; half of the connections have an API key.

usage: bench/slow_clients.py [--plinth target/debug/plinth] [--connections 2000] [--seconds 60]
Fails when the 99th percentile of the normal client's response times more than doubles, or when one of its requests fails. Needs
no packages.
"""
import argparse
import asyncio
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

PAUSE_SECS = 25


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plinth", default="target/debug/plinth")
    parser.add_argument("--connections", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=60)
    return parser.parse_args()


class Server:
    """A temporary server with two accounts."""

    def __init__(self, plinth):
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
        self.hostile, self.honest = self.account("hostile@example.org"), self.account("honest@example.org")

    def admin(self, *args):
        command = [self.plinth, "admin", *args, "--data", self.folder + "/data", "--json"]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def account(self, email):
        self.admin("account", "create", email)
        return self.admin("key", "create", "--account", email)["token"]

    def end(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)


def bodies(plinth):
    """Returns method, path and content type of every endpoint that takes a body."""
    document = json.loads(subprocess.run([plinth, "openapi"], check=True, capture_output=True, text=True).stdout)
    base = document.get("servers", [{}])[0].get("url", "/v1").rstrip("/")
    found = [("POST", "/sign-in", "application/x-www-form-urlencoded")]
    for path, operations in sorted(document["paths"].items()):
        for method, operation in sorted(operations.items()):
            for kind in operation.get("requestBody", {}).get("content", {}):
                path_with_ids = re.sub(r"\{\w+\}", "k3Jd92LmQx7a", path)
                found.append((method.upper(), ("" if path.startswith("/v1") else base) + path_with_ids, kind))
    return found


async def slow(port, request, token, until, counts):
    """Sends requests whose bodies are never complete, one after another until the time `until`."""
    method, path, kind = request
    kind = kind + "; boundary=x" if kind.startswith("multipart") else kind
    key = f"Authorization: Bearer {token}\r\n" if token else ""
    head = (f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n"
            f"{key}Content-Type: {kind}\r\nContent-Length: 60000\r\n\r\n")
    while time.monotonic() < until:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            counts["refused"] += 1
            await asyncio.sleep(0.5)
            continue
        counts["open"] += 1
        counts["most"] = max(counts["most"], counts["open"])
        try:
            writer.write(head.encode())
            ended = asyncio.ensure_future(reader.read())
            while not ended.done() and time.monotonic() < until:
                writer.write(b" ")
                await writer.drain()
                left = max(0.0, min(PAUSE_SECS, until - time.monotonic()))
                await asyncio.wait([ended], timeout=left)
            counts["ended by the server"] += ended.done()
            ended.cancel()
        except OSError:
            pass
        finally:
            counts["open"] -= 1
            writer.close()


def run_crowd(port, requests, token, connections, until):
    """Keeps this many slow connections open until the time `until`, and prints how they fared."""
    asyncio.run(crowd(port, requests, token, connections, until))


async def crowd(port, requests, token, connections, until):
    counts = {"open": 0, "most": 0, "refused": 0, "ended by the server": 0}
    tasks = []
    for number in range(connections):
        request = requests[number // 2 % len(requests)]
        tasks.append(asyncio.ensure_future(slow(port, request, token if number % 2 == 0 else None, until, counts)))
        if number % 100 == 99:
            await asyncio.sleep(0.05)
    await asyncio.gather(*tasks)
    print(f"slow connections: {counts}", flush=True)


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
    server = Server(os.path.abspath(options.plinth))
    try:
        requests = bodies(server.plinth)
        print(f"{len(requests)} endpoints take a body: " + ", ".join(f"{m} {p}" for m, p, _ in requests))
        before = summary("alone", *await honest(server.port, server.honest, time.monotonic() + options.seconds / 3))
        until = time.monotonic() + options.seconds + 5
        # A process of their own: 2000 connections would delay the normal client in one event loop.
        crowd = multiprocessing.Process(target=run_crowd, args=(server.port, requests, server.hostile, options.connections, until))
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
