// The library page and the page of a model: plays the thumbnail video of a model while the pointer is on its picture or the tile has
// the focus, follows unfinished renders, and counts the chosen models.

import { countChosen } from "./bulk.js";
import { el } from "./dom.js";
import { follow, refresh } from "./live.js";

const still = window.matchMedia("(prefers-reduced-motion: reduce)");

/**
 * Plays the video of a picture while the pointer is on the link or stage that contains the picture.
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

/** @type {{close: () => void} | null} */
let following = null;

/**
 * Follows the unfinished renders of the shown models.
 * @param {ParentNode} page
 */
function start(page) {
  for (const picture of page.querySelectorAll("[data-video]")) enliven(picture);
  for (const bulk of page.querySelectorAll("form.bulk")) countChosen(bulk, "model");
  following?.close();
  const list = page.querySelector("[data-events]");
  following = list && follow(list, async ({ id, isFinal, gone }) => {
    if (!isFinal && !gone) return;
    if (list.matches(".lines")) {
      await showRenders();
      return;
    }
    const tile = list.querySelector(`[data-render="${CSS.escape(id)}"]`)?.closest(".tile");
    const fresh = tile && (await refresh(tile.id));
    for (const picture of fresh?.querySelectorAll("[data-video]") ?? []) enliven(picture);
    // The tile shows the next unfinished render of its model, which the event stream does not follow yet.
    if (fresh?.querySelector(".live-render")) await showModels();
  });
}

start(document);

/** Loads the renders and the newest picture of the page's model again. */
async function showRenders() {
  const fresh = await refresh("model-renders");
  if (fresh) start(fresh);
}

/**
 * Loads the list of models again. Keeps the checked boxes, the search text and the results of uploads. Returns whether the list was
 * replaced.
 */
export async function showModels() {
  const fresh = await refresh("models");
  if (fresh) start(fresh);
  return fresh !== null;
}
