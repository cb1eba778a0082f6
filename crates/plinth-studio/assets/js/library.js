// The library page: plays the thumbnail video of a tile while the pointer is on it or it has the focus, and counts the
// chosen models.

import { el } from "./dom.js";
import { follow, refresh } from "./live.js";

const still = window.matchMedia("(prefers-reduced-motion: reduce)");

/** Plays the video of a picture while the pointer is on its area. */
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
for (const picture of document.querySelectorAll("[data-video]")) enliven(picture);

const grid = document.querySelector("[data-events]");
if (grid) {
  follow(grid, async ({ id, isFinal }) => {
    if (!isFinal) return;
    const tile = grid.querySelector(`[data-render="${CSS.escape(id)}"]`)?.closest(".tile");
    const fresh = tile && (await refresh(tile.id));
    for (const picture of fresh?.querySelectorAll("[data-video]") ?? []) enliven(picture);
  });
}

const bulk = document.querySelector("form.bulk");
bulk?.addEventListener("change", () => {
  const chosen = bulk.querySelectorAll(".pick input:checked").length;
  bulk.querySelector(".count").textContent = chosen === 1 ? "1 model chosen" : `${chosen} models chosen`;
});
