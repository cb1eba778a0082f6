// The video player of a render: plays the HLS stream, or the file while there is no stream, and shows thumbnails above
// the seek bar.

import { el } from "./dom.js";
import { listen } from "./events.js";

/**
 * Formats a time in seconds as minutes, seconds and tenths, such as 1:05.2.
 * @param {number} secs
 */
function clock(secs) {
  const tenths = Math.floor((Number.isFinite(secs) ? secs : 0) * 10);
  return `${Math.floor(tenths / 600)}:${((tenths % 600) / 10).toFixed(1).padStart(4, "0")}`;
}

/**
 * Parses the list of thumbnails of a stream.
 * @param {string} text content of a WebVTT file whose cues are parts of pictures
 * @param {string} address of the WebVTT file
 */
export function thumbnails(text, address) {
  const secs = (/** @type {string} */ time) => time.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
  const cues = text.matchAll(/^([\d:.]+) --> ([\d:.]+)[^\n]*\n(.+)#xywh=(\d+),(\d+),(\d+),(\d+)/gm);
  return [...cues].map(([, begin, end, name, ...area]) => {
    const [x, y, width, height] = area.map(Number);
    return { begin: secs(begin), end: secs(end), picture: new URL(name, address).href, x, y, width, height };
  });
}

/**
 * Loads a file or stream into the video element, at this time.
 * @param {HTMLVideoElement} video
 * @param {string} address
 * @param {number} secs
 */
function load(video, address, secs) {
  video.src = address;
  if (secs > 0) video.addEventListener("loadedmetadata", () => { video.currentTime = secs; }, { once: true });
}

/** @param {string} cause */
const warn = (cause) => console.warn(`The stream cannot be played (${cause}). The page plays the file instead.`);

/**
 * Plays the stream in the video element, from the time at which the element is. If the browser does not support streams, the
 * element keeps the file.
 * @param {HTMLVideoElement} video
 * @param {string} stream
 * @param {string} library address of hls.js
 */
async function attach(video, stream, library) {
  const { default: Hls } = await import(library);
  const begin = video.currentTime;
  const file = video.src;
  if (!Hls.isSupported()) {
    if (!video.canPlayType("application/vnd.apple.mpegurl")) return;
    video.addEventListener("error", () => {
      warn(video.error?.message ?? "");
      load(video, file, video.currentTime || begin);
      video.play().catch(() => {});
    }, { once: true });
    load(video, stream, begin);
    return;
  }
  // The content security policy forbids scripts from blobs, which a web worker of the library would need.
  const hls = new Hls({ enableWorker: false, startPosition: begin });
  hls.on(Hls.Events.ERROR, (/** @type {string} */ _event, /** @type {{ fatal: boolean, details: string }} */ error) => {
    if (!error.fatal) return;
    warn(error.details);
    // Until the first part of the stream has arrived, the element does not know its time.
    const secs = video.readyState > 0 ? video.currentTime : begin;
    hls.destroy();
    load(video, file, secs);
    video.play().catch(() => {});
  });
  hls.loadSource(stream);
  hls.attachMedia(video);
}

/**
 * Shows a thumbnail of the time at the pointer above the seek bar.
 * @param {HTMLElement} seek
 * @param {HTMLVideoElement} video
 * @param {string} address of the list of thumbnails
 */
async function showThumbnails(seek, video, address) {
  const response = await fetch(address);
  if (!response.ok) return;
  const cues = thumbnails(await response.text(), new URL(address, location.href).href);
  const shown = el("div", { className: "thumbnail", hidden: true, "aria-hidden": "true" });
  seek.append(shown);
  seek.addEventListener("pointermove", (event) => {
    const bar = seek.getBoundingClientRect();
    const at = Math.min(Math.max((event.clientX - bar.left) / bar.width, 0), 1);
    // The video may not have told its duration yet.
    const secs = at * (video.duration || (cues.at(-1)?.end ?? 0));
    const cue = cues.find(({ begin, end }) => begin <= secs && secs < end) ?? cues.at(-1);
    shown.hidden = !cue;
    if (!cue) return;
    shown.style.width = `${cue.width}px`;
    shown.style.height = `${cue.height}px`;
    shown.style.backgroundImage = `url("${cue.picture}")`;
    shown.style.backgroundPosition = `${-cue.x}px ${-cue.y}px`;
    // Keeps the thumbnail inside the window.
    const room = cue.width / 2 + 8;
    const left = Math.min(Math.max(event.clientX, room), document.documentElement.clientWidth - room);
    shown.style.left = `${left - bar.left}px`;
  });
  const hide = () => { shown.hidden = true; };
  seek.addEventListener("pointerleave", hide);
  window.addEventListener("resize", hide);
}

/**
 * Waits until the stream is packaged. The promise is rejected if there will be no stream.
 * @param {string} address of the events of the render
 * @returns {Promise<void>}
 */
function packaged(address) {
  return new Promise((resolve, reject) => {
    const events = listen(address, ({ stream, gone }) => {
      const shown = document.querySelector(".stream-state");
      if (shown && !gone) shown.textContent = stream;
      if (["pending", "processing"].includes(stream)) return;
      events.close();
      if (stream === "ready") resolve();
      else reject(new Error(gone ? "the render is gone" : `the stream is ${stream}`));
    }, (status) => reject(new Error(`the server answered with status ${status}`)));
  });
}

/** @param {HTMLElement} player */
function start(player) {
  const video = player.querySelector("video");
  if (!video) return;
  const { packaging, stream, thumbnails: list, hls } = player.dataset;
  let isReady = Boolean(stream && !packaging);
  const play = el("button", { type: "button" }, "Play");
  const range = /** @type {HTMLInputElement} */ (
    el("input", { type: "range", min: "0", max: "1", step: "any", value: "0", "aria-label": "Position" })
  );
  const seek = el("div", { className: "seek" }, range);
  const time = el("output", { "aria-live": "off" }, clock(0));
  const full = el("button", { type: "button" }, "Full screen");
  player.append(el("div", { className: "controls" }, play, seek, time, full));
  video.controls = false;

  const toggle = () => (video.paused ? begin() : video.pause());
  let attached = false;
  const begin = async () => {
    // Changes to the stream only before playback. A video that is already playing continues with the file.
    if (isReady && stream && hls && !attached) {
      attached = true;
      await attach(video, stream, hls).catch((error) => warn(error.message));
    }
    // The promise of `play` is rejected if the video is paused or replaced before it plays.
    await video.play().catch(() => {});
  };
  play.addEventListener("click", toggle);
  video.addEventListener("click", toggle);
  for (const name of ["play", "pause"]) {
    video.addEventListener(name, () => { play.textContent = video.paused ? "Play" : "Pause"; });
  }
  const show = () => {
    if (video.duration > 0) range.value = String(video.currentTime / video.duration);
    const text = `${clock(video.currentTime)} / ${clock(video.duration)}`;
    time.textContent = text;
    range.setAttribute("aria-valuetext", text);
  };
  for (const name of ["timeupdate", "durationchange", "seeked"]) video.addEventListener(name, show);
  range.addEventListener("input", () => {
    if (video.duration > 0) video.currentTime = Number(range.value) * video.duration;
  });
  full.addEventListener("click", () => {
    if (document.fullscreenElement) document.exitFullscreen();
    else if (player.requestFullscreen) player.requestFullscreen().catch(() => {});
    // On the iPhone, Safari shows nothing but videos in full screen.
    else /** @type {any} */ (video).webkitEnterFullscreen?.();
  });
  show();
  const addThumbnails = () => (list ? showThumbnails(seek, video, list) : undefined);
  if (isReady) addThumbnails();
  else if (packaging) {
    packaged(packaging).then(() => {
      isReady = true;
      return addThumbnails();
    }, () => {});
  }
}

for (const player of document.querySelectorAll(".player")) start(/** @type {HTMLElement} */ (player));
