// Places a decal at a point of the model: a dialog asks for the image, which can be uploaded, and the decal is added to the
// settings.

import { el, need, reason } from "./dom.js";
import { post, uploadWhenAllowed } from "./session.js";
import { freeId } from "./structure.js";

/** Length of the longer side of a new decal, in units. The longest side of the model is 2 units long. */
const SIZE = 0.5;
/** Rounds the numbers of a vector to four decimal places. Further places would not change a picture. */
export const rounded = (vector) => vector.map((number) => Math.round(number * 1e4) / 1e4);

/**
 * Returns the current scale of the model. A decal stores the scale at which it was placed, so that it keeps its position if the
 * model is stretched later.
 * @param {import("./values.js").Values} values
 */
export const scaleOf = (values) => ["scaleX", "scaleY", "scaleZ"].map((key) => Number(values.get(key) ?? 1));

/** Whether all decals have identifiers, which are all different. */
const areNamed = (decals) => decals.every(({ id }) => id) && new Set(decals.map(({ id }) => id)).size === decals.length;

/**
 * Replaces the identifiers of the decals in a request by their indices in the list, if the identifiers are not unique.
 * @param {URLSearchParams} body
 * @returns {(decal: string) => {decal: string, decalAt: number | null}} converts an identifier in the response to the identifier
 *   in the form
 */
export function numberDecals(body) {
  let decals;
  try {
    decals = JSON.parse(body.get("decals") || "[]");
  } catch {
    decals = [];
  }
  if (!Array.isArray(decals) || areNamed(decals)) return (decal) => ({ decal, decalAt: null });
  body.set("decals", JSON.stringify(decals.map((decal, i) => ({ ...decal, id: String(i) }))));
  return (number) => ({ decal: decals[number]?.id || `decal ${Number(number) + 1}`, decalAt: Number(number) });
}

/**
 * Returns the index of a decal in the list; -1 if it was removed.
 * @param {{id: string}[]} decals
 * @param {{decal: string, decalAt?: number | null}} surface a surface of the picture
 */
export const placeOf = (decals, { decal, decalAt }) =>
  typeof decalAt === "number" ? (decalAt < decals.length ? decalAt : -1) : decals.findIndex(({ id }) => id === decal);

/**
 * @param {HTMLFormElement} form
 * @param {import("./values.js").Values} values
 * @param {(message: string) => void} say
 */
export function decalPlacer(form, values, say) {
  const known = need("#decal-images");
  const choice = el("select", { id: "decal-image" });
  const file = el("input", { type: "file", id: "decal-file", accept: "image/png,image/jpeg,image/webp" });
  const place = el("button", { type: "button", className: "main", textContent: "Place it" });
  const cancel = el("button", { type: "button", textContent: "Cancel" });
  const state = el("p", { role: "status" });
  const dialog = el("dialog", { className: "decal-dialog", "aria-label": "Image of the decal" },
    el("h2", { textContent: "Image of the decal" }),
    el("label", { htmlFor: "decal-image", textContent: "Image" }), choice,
    el("label", { htmlFor: "decal-file", textContent: "Or a new one: PNG, JPEG or WebP" }), file,
    el("div", { className: "row" }, place, cancel), state);
  // The dialog is outside of the form, so that its fields are not sent with the settings.
  form.after(dialog);
  let target = null;

  const fill = (chosen) => {
    choice.replaceChildren(...[...known.options].map((option) => el("option", { value: option.value, textContent: option.label || option.value, selected: option.value === chosen })));
    choice.disabled = known.options.length === 0;
    place.disabled = known.options.length === 0;
  };
  file.addEventListener("change", async () => {
    if (!file.files[0]) return;
    state.className = "";
    place.disabled = true;
    const body = new FormData();
    body.set("form_token", need("[name=form_token]", form).value);
    body.set("kind", "decal");
    body.set("file", file.files[0]);
    const send = () => {
      state.textContent = "Uploading…";
      return post(form.dataset.images, body);
    };
    try {
      const said = await uploadWhenAllowed(send, (message) => { state.textContent = `Waiting: ${message}`; });
      known.prepend(el("option", { value: said.id, label: said.name }));
      state.textContent = `${said.name} is uploaded.`;
      fill(said.id);
    } catch (error) {
      state.className = "problem";
      state.textContent = reason(error);
      fill(choice.value);
    }
    file.value = "";
  });
  cancel.addEventListener("click", () => dialog.close());
  place.addEventListener("click", () => {
    const decals = values.get("decals") ?? [];
    const [position, normal, euler] = [target.position, target.normal, target.euler].map(rounded);
    const decal = { id: freeId(decals, "decal"), imageAssetId: choice.value, position, normal, euler, size: SIZE, placementScale: scaleOf(values) };
    values.set("decals", [...decals, decal]);
    values.commit();
    dialog.close();
    say("The decal is placed. Its size and rotation are in its settings.");
  });

  return (surface) => {
    target = surface;
    state.className = "";
    state.textContent = "";
    fill(choice.value);
    dialog.showModal();
  };
}
