// Uploads environments. Shows the progress of the upload, and then that the server is encoding the file.

import { el, need, reason } from "./dom.js";
import { isUploading, upload, uploadWhenAllowed } from "./session.js";

/** @param {HTMLFormElement} form */
async function send(form) {
  const [button, area] = [need("button", form), need(".sending", form)];
  const bar = el("progress", { max: 1, value: 0, "aria-label": "Upload" });
  const text = el("p", { className: "help" });
  area.replaceChildren(bar, text);
  button.disabled = true;
  const body = new FormData(form);
  const attempt = () => {
    bar.value = 0;
    text.textContent = "Uploading…";
    // The token may have been renewed during a wait.
    body.set("form_token", need("[name=form_token]", form).value);
    return upload(form.action, body, (fraction) => {
      bar.value = fraction;
      if (fraction < 1) return;
      bar.removeAttribute("value");
      text.textContent = "Encoding. A large panorama takes half a minute.";
    });
  };
  try {
    const { name } = await uploadWhenAllowed(attempt, (message) => { text.textContent = `Waiting: ${message}`; });
    if (!isUploading()) {
      location.reload();
      return;
    }
    // Loading the page again would end the upload of the other form.
    form.reset();
    area.replaceChildren(el("p", { className: "help" }, "“", el("bdi", {}, name), "” is added. The list shows it when the page is loaded again."));
  } catch (error) {
    area.replaceChildren(el("p", { className: "problem" }, reason(error)));
  }
  button.disabled = false;
}

for (const form of document.querySelectorAll("form[enctype]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(/** @type {HTMLFormElement} */ (form));
  });
}
