// Creates links to files of a render without leaving its page, and copies them.

import { el, need, reason } from "./dom.js";
import { post } from "./session.js";

const form = document.querySelector("form.share");

/** @param {HTMLFormElement} form */
async function create(form) {
  const area = need(".shared");
  const button = need("button", form);
  button.disabled = true;
  try {
    const fields = new URLSearchParams(/** @type {any} */ (new FormData(form)));
    show(area, (await post(form.action, fields)).text);
  } catch (error) {
    area.replaceChildren(el("p", { className: "problem" }, `The link could not be created. ${reason(error)}`));
  } finally {
    button.disabled = false;
  }
}

/**
 * Shows the text with a button that copies it.
 * @param {HTMLElement} area
 * @param {string} text
 */
function show(area, text) {
  const field = /** @type {HTMLTextAreaElement} */ (el("textarea", { readOnly: true, value: text, "aria-label": "The link" }));
  const copy = el("button", { type: "button" }, "Copy");
  copy.addEventListener("click", async () => {
    field.select();
    try {
      // Browsers offer the clipboard only on pages with HTTPS.
      await navigator.clipboard.writeText(text);
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "Selected: copy it with Ctrl+C";
    }
  });
  area.replaceChildren(field, copy);
}

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  create(/** @type {HTMLFormElement} */ (form));
});
