// Uploads environments. Shows the progress of the upload, and then that the server is encoding the file.

import { el, need, reason } from "./dom.js";
import { upload } from "./session.js";

/**
 * Asks the user before the page is left, because that would end the upload.
 * @param {Event} event
 */
const askFirst = (event) => event.preventDefault();

/** @param {HTMLFormElement} form */
async function send(form) {
  const [button, area] = [need("button", form), need(".sending", form)];
  const bar = el("progress", { max: 1, value: 0, "aria-label": "Upload" });
  const text = el("p", { className: "help" }, "Uploading…");
  area.replaceChildren(bar, text);
  button.disabled = true;
  window.addEventListener("beforeunload", askFirst);
  try {
    await upload(form.action, new FormData(form), (fraction) => {
      bar.value = fraction;
      if (fraction < 1) return;
      bar.removeAttribute("value");
      text.textContent = "Encoding. A large panorama takes half a minute.";
    });
    window.removeEventListener("beforeunload", askFirst);
    location.reload();
  } catch (error) {
    window.removeEventListener("beforeunload", askFirst);
    button.disabled = false;
    area.replaceChildren(el("p", { className: "problem" }, reason(error)));
  }
}

for (const form of document.querySelectorAll("form[enctype]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(/** @type {HTMLFormElement} */ (form));
  });
}
