#!/usr/bin/env node
// Plays a packaged video in Chromium with hls.js: every variant from start to end, seeks, then automatic switching.
// Fails on any error event, a size that is not the variant's, a stall, or an end that is not reached.
//
//   npm install hls.js puppeteer-core        (in any folder; run from there)
//   node PATH/scripts/play_hls.mjs FOLDER    (FOLDER holds master.m3u8; CHROMIUM names the browser)
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import path from "node:path";

const folder = process.argv[2];
if (!folder) {
  console.error("usage: node play_hls.mjs FOLDER");
  process.exit(2);
}
const browsers = process.env.CHROMIUM ? [process.env.CHROMIUM] : ["chromium", "chromium-browser", "google-chrome"].flatMap((name) =>
  process.env.PATH.split(path.delimiter).concat("/usr/bin").map((folder) => path.join(folder, name)));
const executablePath = browsers.find((file) => existsSync(file));
const require = createRequire(path.join(process.cwd(), "x.js"));
const lacking = (message) => {
  console.error(`play_hls: ${message}`);
  process.exit(1);
};
if (!executablePath) lacking(`no Chromium${process.env.CHROMIUM ? ` at ${process.env.CHROMIUM}` : ""}; name it with CHROMIUM`);
let puppeteer, player;
try {
  puppeteer = require("puppeteer-core");
  player = require.resolve("hls.js/dist/hls.min.js");
} catch {
  lacking("run it in a folder after: npm install hls.js puppeteer-core");
}

const TYPES = { ".m3u8": "application/vnd.apple.mpegurl", ".mp4": "video/mp4", ".m4s": "video/iso.segment" };
const PAGE = "<!doctype html><script src=/hls.js></script><video id=video muted></video>";

const server = createServer(async (request, response) => {
  const name = decodeURIComponent(new URL(request.url, "http://x").pathname);
  if (name === "/") return response.setHeader("Content-Type", "text/html").end(PAGE);
  try {
    const body = await readFile(name === "/hls.js" ? player : path.join(folder, path.normalize(name)));
    response.setHeader("Content-Type", TYPES[path.extname(name)] ?? "application/octet-stream").end(body);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));

// Runs in the page: plays one level (-1: automatic) and returns what it observed.
async function watch(level) {
  const video = document.getElementById("video");
  const hls = new Hls({ startLevel: level, enableWorker: false });
  const errors = [];
  hls.on(Hls.Events.ERROR, (_, data) => {
    // A stall with a filled buffer only means that this machine decodes too slowly.
    if (data.details === "bufferStalledError" && data.bufferInfo?.len > 0.5) return;
    // A seek aborts current downloads.
    if (data.details === Hls.ErrorDetails.INTERNAL_ABORTED && !data.fatal) return;
    errors.push(`${data.details}: ${data.error?.message ?? data.reason ?? ""}`);
  });
  const event = (target, name) => new Promise((done) => target.addEventListener(name, done, { once: true }));
  const parsed = new Promise((done) => hls.once(Hls.Events.MANIFEST_PARSED, done));
  hls.loadSource("/master.m3u8");
  hls.attachMedia(video);
  await parsed;
  if (level >= 0) hls.loadLevel = level;
  const levels = hls.levels.map((l) => ({ width: l.width, height: l.height, bitrate: l.bitrate, codecs: l.videoCodec }));
  if (video.readyState < 2) await event(video, "canplay");
  const duration = video.duration;
  const begin = video.buffered.start(0);
  const seeks = [];
  for (const share of [0.8, 0.3, 0.55, 0]) {
    video.currentTime = share * duration;
    await event(video, "seeked");
    seeks.push(video.currentTime / duration - share);
  }
  const size = [video.videoWidth, video.videoHeight];
  const ended = event(video, "ended");
  await video.play();
  await ended;
  const { totalVideoFrames, corruptedVideoFrames } = video.getVideoPlaybackQuality();
  const seen = { errors, levels, duration, begin, seeks, size, end: video.currentTime, totalVideoFrames, corruptedVideoFrames };
  hls.destroy();
  return seen;
}

const browser = await puppeteer.launch({
  executablePath,
  args: ["--no-sandbox", "--autoplay-policy=no-user-gesture-required"],
});
let wrong = 0;
try {
  const limit = (seen) => new Promise((_, fail) => setTimeout(() => fail(new Error(`${seen} does not end`)), 180_000).unref());
  for (let level = 0, levels = 1; level <= levels; level++) {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    const shown = level === levels ? -1 : level;
    const seen = await Promise.race([page.evaluate(watch, shown), limit(`level ${shown}`)]);
    if (shown === 0) levels = seen.levels.length;
    const wanted = seen.levels[shown];
    const faults = [...seen.errors];
    if (wanted && (seen.size[0] !== wanted.width || seen.size[1] !== wanted.height)) faults.push(`size ${seen.size}`);
    if (Math.abs(seen.end - seen.duration) > 0.05) faults.push(`ends at ${seen.end}`);
    if (seen.begin > 0.001) faults.push(`begins at ${seen.begin}`);
    if (seen.seeks.some((miss) => Math.abs(miss) > 0.001)) faults.push(`seeks ${seen.seeks}`);
    if (seen.corruptedVideoFrames) faults.push(`${seen.corruptedVideoFrames} corrupt frames`);
    const name = wanted ? `${wanted.width}x${wanted.height} ${wanted.codecs}` : "automatic";
    console.log(`${name}: ${seen.end.toFixed(3)} of ${seen.duration.toFixed(3)} s, ${faults.join("; ") || "good"}`);
    wrong += faults.length;
    await page.close();
  }
} finally {
  await browser.close();
  server.close();
}
process.exit(wrong ? 1 : 0);
