// Compares the picture with the picture before the last change of the settings. Both are drawn with the current camera and time. A
// slider moves the boundary between them.

import { el } from "./dom.js";
import { FULL } from "./preview.js";

/** Fields that do not change the look, such as the camera. Both pictures use the current values of these fields. */
const OF_VIEW = ["rotateY", "zoom", "form_token", "look_name", "look_replace"];

/**
 * @param {HTMLButtonElement} button
 * @param {import("./preview.js").Preview} preview
 */
export function compare(button, preview) {
  const { stage, form } = preview;
  const range = el("input", { type: "range", min: "0", max: "1", step: "0.01", value: "0.5", "aria-label": "How much shows the picture before the last change" });
  const row = el("div", { className: "wipe", hidden: true }, el("span", { textContent: "Before" }), range, el("span", { textContent: "Now" }));
  stage.after(row);
  let [before, now] = [null, null];
  let picture = null;
  /** The request for the picture that was current when the earlier picture was drawn. */
  let beside = "";

  const sentNow = () => new URLSearchParams(/** @type {any} */ (new FormData(form)));
  const look = (sent) => {
    const copy = new URLSearchParams(sent);
    for (const key of OF_VIEW) copy.delete(key);
    return copy.toString();
  };
  const note = () => {
    const sent = sentNow();
    if (now !== null && look(sent) === look(now)) return;
    [before, now] = [now, sent];
    button.disabled = before === null;
  };
  const place = () => {
    if (picture) picture.style.clipPath = `inset(0 ${100 - 100 * Number(range.value)}% 0 0)`;
  };
  const stop = () => {
    if (picture) URL.revokeObjectURL(picture.src);
    picture?.remove();
    picture = null;
    row.hidden = true;
    button.setAttribute("aria-pressed", "false");
  };
  button.disabled = true;
  button.addEventListener("click", async () => {
    if (picture) {
      stop();
      return;
    }
    const sent = new URLSearchParams(before);
    const current = sentNow();
    for (const key of OF_VIEW) if (current.has(key)) sent.set(key, current.get(key));
    preview.aim(sent);
    preview.say("Drawing what was before…");
    button.disabled = true;
    const asked = preview.body().toString();
    const drawn = await preview.picture(sent, FULL);
    button.disabled = false;
    if (!drawn) return;
    preview.say("");
    if (preview.body().toString() !== asked) {
      // The camera or a setting has changed in the meantime.
      URL.revokeObjectURL(drawn.src);
      return;
    }
    stop();
    picture = drawn;
    beside = preview.shown.toString();
    picture.classList.add("before");
    picture.alt = "The picture before the last change";
    stage.append(picture);
    range.value = "0.5";
    row.hidden = false;
    button.setAttribute("aria-pressed", "true");
    place();
    range.focus();
  });
  range.addEventListener("input", (event) => {
    event.stopPropagation();
    place();
  });
  range.addEventListener("change", (event) => event.stopPropagation());
  form.addEventListener("previewed", (/** @type {any} */ event) => {
    // After a change of the settings, the two pictures no longer show the last change, so the comparison ends.
    if (preview.shown.toString() !== beside) stop();
    if (event.detail === FULL) note();
  });
}
