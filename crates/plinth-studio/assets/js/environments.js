// Uploads environments. Shows the progress of the upload, and then that the server is encoding the file.

import { el, need } from "./dom.js";

/** @param {HTMLFormElement} form */
function send(form) {
  const [button, area] = [need("button", form), need(".sending", form)];
  const progress = /** @type {HTMLProgressElement} */ (el("progress", { max: 1, value: 0, "aria-label": "Upload" }));
  const text = el("p", { className: "help" }, "Uploading…");
  area.replaceChildren(progress, text);
  button.disabled = true;
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  request.responseType = "document";
  request.upload.addEventListener("progress", ({ loaded, total }) => { progress.value = loaded / total; });
  request.upload.addEventListener("load", () => {
    progress.removeAttribute("value");
    text.textContent = "Encoding. A large panorama takes half a minute.";
  });
  const fail = (/** @type {string} */ message) => {
    button.disabled = false;
    area.replaceChildren(el("p", { className: "problem" }, message));
  };
  request.addEventListener("load", () => {
    if (request.status < 400) {
      location.reload();
      return;
    }
    // The message is the first paragraph of an error page. The page of environments shows it above the form.
    const said = (request.response?.querySelector("main .problem") ?? request.response?.querySelector("main p"))?.textContent;
    fail(said?.trim() || `The upload failed with status ${request.status}.`);
  });
  request.addEventListener("error", () => fail("The connection broke. Try again."));
  request.send(new FormData(form));
}

for (const form of document.querySelectorAll("form[enctype]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(/** @type {HTMLFormElement} */ (form));
  });
}
