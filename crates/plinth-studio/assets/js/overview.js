// The list of renders: follows those that have not ended, and shows the picture of each as soon as it is ready.

import { follow, refresh } from "./live.js";

/** @type {HTMLElement | null} */
const list = document.querySelector("[data-events]");
if (list) {
  follow(list, ({ id, status, isFinal }, before) => {
    if (isFinal || (before && before !== status)) refresh(`render-${id}`);
  });
}
