// Adds upload buttons beside the choices of images and environments in the composer. A button sends a file without leaving the
// page, so that unsaved settings are kept, and then chooses the new image or environment.

import { el, need, reason } from "./dom.js";
import { post, uploadWhenAllowed } from "./session.js";

const IMAGES = "image/png,image/jpeg,image/webp";
/** Endings of the file names that `plinth environment encode` writes, with the form field for each. */
const PARTS = [[".sdr.webp", "sdr"], [".gainmap.webp", "gainmap"], [".json", "metadata"], [".webp", "thumb"]];

/** @typedef {{id: string, name: string}} Made the image or environment that the server has stored */
/**
 * Called when an upload begins. Returns a function that is called with the stored asset, and returns whether it has chosen the asset.
 * @typedef {() => (made: Made) => boolean} Begin
 */

/**
 * Returns a button that uploads an asset.
 * @param {HTMLFormElement} form the form with the CSRF token
 * @param {object} upload
 * @param {string} upload.address
 * @param {string} upload.label
 * @param {string} upload.accept
 * @param {boolean} [upload.multiple] whether several files make one asset
 * @param {string} upload.busy message that is shown during the upload
 * @param {(body: FormData, files: File[]) => void} upload.fill
 * @param {Begin} upload.begin
 * @param {HTMLElement | null} [upload.states] contains the states of the uploads of several buttons; by default, the state is shown
 *   below the button
 */
function uploader(form, { address, label, accept, multiple = false, busy, fill, begin, states = null }) {
  const file = /** @type {HTMLInputElement} */ (el("input", { type: "file", accept, multiple, hidden: true, "aria-label": label }));
  const button = /** @type {HTMLButtonElement} */ (el("button", { type: "button", textContent: label }));
  const own = el("p", { role: "status" });
  button.addEventListener("click", () => file.click());
  // Choosing a file does not change a setting yet, so the composer must not get this event.
  file.addEventListener("input", (event) => event.stopPropagation());
  file.addEventListener("change", async (event) => {
    event.stopPropagation();
    const files = [...file.files ?? []];
    if (files.length === 0) return;
    const body = new FormData();
    // The server needs the token before the files.
    body.set("form_token", need("[name=form_token]", form).value);
    fill(body, files);
    const take = begin();
    file.value = "";
    for (const ended of states?.querySelectorAll("[data-ended]") ?? []) ended.remove();
    const state = states?.appendChild(el("p", { role: "status" })) ?? own;
    state.className = "quiet";
    button.disabled = true;
    const send = () => {
      state.textContent = busy;
      return post(address, body);
    };
    try {
      const made = await uploadWhenAllowed(send, (message) => { state.textContent = `Waiting: ${message}`; });
      const isChosen = take(made);
      state.textContent = isChosen ? `${made.name} is uploaded.` : `${made.name} is uploaded. It is not chosen, because its place was removed.`;
    } catch (error) {
      state.className = "problem";
      state.textContent = reason(error);
    }
    state.dataset.ended = "";
    button.disabled = false;
  });
  return el("div", { className: "upload-beside" }, button, file, states === null ? own : null);
}

/**
 * Returns a button that uploads an image.
 * @param {HTMLFormElement} form
 * @param {"decal" | "background" | "texture"} kind
 * @param {Begin} begin
 * @param {HTMLElement | null} [states] contains the states of the uploads of several buttons; by default, the state is shown below the
 *   button
 */
export function imageUpload(form, kind, begin, states = null) {
  const fill = (/** @type {FormData} */ body, /** @type {File[]} */ [image]) => {
    body.set("kind", kind);
    body.set("file", image);
  };
  return uploader(form, { address: form.dataset.images ?? "", label: `Upload a ${kind}…`, accept: IMAGES, busy: "Uploading…", fill, begin, states });
}

/**
 * Fills in the fields of the form for an environment: a panorama, or the files of an encoded environment, which are recognised
 * by their names.
 * @param {FormData} body
 * @param {File[]} files
 */
function fillEnvironment(body, files) {
  for (const file of files) {
    const name = file.name.toLowerCase();
    const [, field] = PARTS.find(([end]) => name.endsWith(end)) ?? ["", "panorama"];
    if (field === "sdr") body.set("name", file.name.slice(0, -".sdr.webp".length));
    body.append(field, file);
  }
}

/**
 * Puts upload buttons beside the choices of the background image and the environment.
 * @param {HTMLFormElement} form
 * @param {import("./values.js").Values} values
 */
export function choiceUploads(form, values) {
  const takeInto = (/** @type {string} */ key) => () => (/** @type {Made} */ { id, name }) => {
    const [choice] = values.controls.get(key)?.inputs ?? [];
    choice?.append(el("option", { value: id, textContent: name }));
    values.set(key, id);
    values.commit();
    return true;
  };
  const addBeside = (/** @type {string} */ key, /** @type {HTMLElement} */ upload) => {
    values.controls.get(key)?.inputs[0]?.after(upload);
  };
  addBeside("bgImageId", imageUpload(form, "background", takeInto("bgImageId")));
  addBeside("envId", uploader(form, {
    address: form.dataset.environments ?? "",
    label: "Upload an environment…",
    accept: ".hdr,.exr,.webp,.json",
    multiple: true,
    busy: "Uploading and encoding. A large panorama takes half a minute.",
    fill: fillEnvironment,
    begin: takeInto("envId"),
  }));
}
