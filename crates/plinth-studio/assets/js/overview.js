// The list of renders: follows the unfinished renders, and shows the picture of a render as soon as it is ready.

import { follow, refresh } from "./live.js";

/** @type {HTMLElement | null} */
const list = document.querySelector("[data-events]");
if (list) {
  follow(list, ({ id, status, isFinal }, before) => {
    if (isFinal || (before && before !== status)) refresh(`render-${id}`);
  });
}
