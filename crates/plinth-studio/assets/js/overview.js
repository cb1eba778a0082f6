// The list of renders: follows those that have not ended, and shows the picture of each as soon as it is ready.

import { follow, refresh } from "./live.js";

const list = document.querySelector("[data-events]");
if (list) {
  follow(list, ({ id, status, isFinal }, before) => {
    if (isFinal || (before && before !== status)) refresh(`render-${id}`);
  });
}
