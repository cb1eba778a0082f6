// The library page: plays the thumbnail video of a tile while the pointer is on it or it has the focus, and counts the
// chosen models.

import { el } from "./dom.js";

const still = window.matchMedia("(prefers-reduced-motion: reduce)");

for (const picture of document.querySelectorAll("[data-video]")) {
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

const bulk = document.querySelector("form.bulk");
bulk?.addEventListener("change", () => {
  const chosen = bulk.querySelectorAll(".pick input:checked").length;
  bulk.querySelector(".count").textContent = chosen === 1 ? "1 model chosen" : `${chosen} models chosen`;
});
