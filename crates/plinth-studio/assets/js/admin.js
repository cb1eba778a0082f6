// The overview for administrators: reloads the state of the installation every few seconds while the page is visible, unless the
// user has selected text in the state or focused a control in it.

import { need } from "./dom.js";
import { refresh } from "./live.js";

const PAUSE_MS = 5000;
/** @type {HTMLInputElement} */
const box = need("#update");
/** @type {HTMLElement} */
const stale = need("#stale");

/** Whether replacing the element `#state` would move the keyboard focus or end a selection. */
function isInUse() {
  /** @type {HTMLElement} */
  const area = need("#state");
  const selection = document.getSelection();
  const focused = document.activeElement?.matches(":focus-visible") && area.contains(document.activeElement);
  return focused || (!selection?.isCollapsed && area.contains(selection?.anchorNode ?? null));
}

async function update() {
  if (box.checked && !document.hidden && !isInUse()) {
    const fresh = await refresh("state");
    const text = fresh ? "" : "The server did not answer the last update. Reload the page to sign in again.";
    if (stale.textContent !== text) stale.textContent = text;
  }
  setTimeout(update, PAUSE_MS);
}

setTimeout(update, PAUSE_MS);
