// Copies text to the clipboard. Works also on pages without HTTPS, where browsers have no clipboard interface for
// scripts.

import { el } from "./dom.js";

/**
 * @param {string} text
 * @returns {Promise<boolean>} whether the text was copied
 */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const focused = /** @type {HTMLElement | null} */ (document.activeElement);
    const area = /** @type {HTMLTextAreaElement} */ (el("textarea", { className: "unseen", value: text, readOnly: true, "aria-hidden": "true" }));
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    focused?.focus({ preventScroll: true });
    return isCopied;
  }
}
