// The page of a render: follows its progress, and shows the result as soon as it is ready.

import { need } from "./dom.js";
import { follow } from "./live.js";

/** @type {HTMLElement | null} */
const area = document.querySelector("[data-events]");
if (area) {
  const events = follow(area, ({ status, isFinal, gone }, before) => {
    // The result will not be shown.
    if (gone) need("p", area).remove();
    // A render that has begun cannot be cancelled.
    if (status !== "pending") document.querySelector("form.cancel")?.remove();
    // The poster is ready before the video.
    if (!isFinal && !(before && before !== status && status === "video-processing")) return;
    events.close();
    location.reload();
  });
}
