// The library page: plays the thumbnail video of a tile while the pointer is on it or it has the focus, and counts the
// chosen models.

import { el } from "./dom.js";
import { follow, refresh } from "./live.js";

const still = window.matchMedia("(prefers-reduced-motion: reduce)");

/**
 * Plays the video of a picture while the pointer is on its area.
 * @param {HTMLElement} picture
 */
function enliven(picture) {
  const area = picture.closest("a, .stage");
  const play = () => {
    if (still.matches || picture.querySelector("video")) return;
    const video = el("video", { src: picture.dataset.video, muted: true, loop: true, playsInline: true, "aria-hidden": true });
    picture.append(video);
    video.play().catch(() => video.remove());
  };
  const stop = () => picture.querySelector("video")?.remove();
  area.addEventListener("pointerenter", play);
  area.addEventListener("pointerleave", stop);
  area.addEventListener("focus", play);
  area.addEventListener("blur", stop);
}

/**
 * Counts the chosen models.
 * @param {HTMLFormElement} bulk
 */
function count(bulk) {
  const show = () => {
    const chosen = bulk.querySelectorAll(".pick input:checked").length;
    const text = chosen === 0 ? "With the chosen models" : chosen === 1 ? "1 model chosen" : `${chosen} models chosen`;
    const shown = bulk.querySelector(".count");
    if (shown && shown.textContent !== text) shown.textContent = text;
  };
  bulk.addEventListener("change", show);
  // The Enter key on a box would press the first button of the form.
  bulk.addEventListener("keydown", (/** @type {any} */ event) => {
    if (event.key === "Enter" && event.target.type === "checkbox") event.preventDefault();
  });
  show();
}

/** @type {{close: () => void} | null} */
let following = null;

/**
 * Follows the renders of the models that are shown.
 * @param {ParentNode} page
 */
function start(page) {
  for (const picture of page.querySelectorAll("[data-video]")) enliven(picture);
  for (const bulk of page.querySelectorAll("form.bulk")) count(bulk);
  following?.close();
  const grid = page.querySelector("[data-events]");
  following = grid && follow(grid, async ({ id, isFinal }) => {
    if (!isFinal) return;
    const tile = grid.querySelector(`[data-render="${CSS.escape(id)}"]`)?.closest(".tile");
    const fresh = tile && (await refresh(tile.id));
    for (const picture of fresh?.querySelectorAll("[data-video]") ?? []) enliven(picture);
  });
}

start(document);

/** Updates the list of models. Chosen boxes, the search and the results of uploads stay. */
export async function showModels() {
  const fresh = await refresh("models");
  if (fresh) start(fresh);
  return fresh !== null;
}
