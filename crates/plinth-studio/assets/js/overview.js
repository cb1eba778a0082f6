// The list of renders: follows the unfinished renders, shows the picture of a render as soon as it is ready, and counts the chosen
// renders.

import { countChosen } from "./bulk.js";
import { follow, refresh } from "./live.js";

/** @type {HTMLElement | null} */
const list = document.querySelector("[data-events]");
if (list) {
  follow(list, ({ id, status, isFinal }, before) => {
    if (isFinal || (before && before !== status)) refresh(`render-${id}`);
  });
}

const bulk = document.querySelector("form.bulk");
if (bulk) countChosen(bulk, "render");
