// The composer: connects the controls of the form, shows the price after each change, and adds undo, resets, copies of the
// order and the preview. Without this script, the buttons of the form send the form to the server.

import { Control } from "./control.js";
import { copy } from "./clipboard.js";
import { copies } from "./copies.js";
import { need, reason } from "./dom.js";
import { finder } from "./finder.js";
import { History } from "./history.js";
import { Kept } from "./kept.js";
import { look } from "./look.js";
import { looks } from "./looks.js";
import { ask, showPrice, showProblem } from "./price.js";
import { structure } from "./structure.js";
import { choiceUploads } from "./upload_beside.js";
import { Values } from "./values.js";

/** Time between the last change and the request for the price. */
const REST_MS = 300;
/** Time after an order was sent, in which further clicks on its button are ignored. */
const SENT_MS = 5000;

const form = need("form.composer");
const schema = await (await fetch(form.dataset.schema)).json();
const controls = [...form.querySelectorAll(".control")].map((root) => new Control(root));
const values = new Values(controls, need("#find-setting", form), () => changed(true));

const kept = new Kept(controls, need("[name=key]", form));
kept.restore();
for (const element of document.querySelectorAll(".scripted[hidden]")) element.hidden = false;
for (const element of form.querySelectorAll(".unscripted")) element.hidden = true;

const materials = [...document.querySelectorAll("#material-names option")].map((option) => option.value);
for (const control of controls) {
  const [input] = control.inputs;
  control.complete(() => changed(true));
  if (input?.tagName === "TEXTAREA") structure(control, /** @type {any} */ (input), schema.properties[control.key], materials, () => changed(true));
}

choiceUploads(form, values);

// `settings` are the settings that the server returned for the form. The page shows and copies them.

/** Marks the control of the setting that was rejected, and opens its group. */
function blame(key) {
  for (const control of controls) {
    const isWrong = control.key === key;
    control.root.classList.toggle("wrong", isWrong);
    for (const input of control.inputs) {
      if (isWrong) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    }
    if (isWrong) control.root.closest("details").open = true;
  }
}

let settings = JSON.parse(need(".settings-json", form).textContent || "{}");
/** Whether the shown price and `settings` belong to the current values of the form. */
let isSettled = true;
let timer = 0;
let asked = null;

/**
 * Requests the price. Returns whether the server accepts the current form. Shows no price until the server has answered.
 * @param {boolean} [mayWait] whether to wait if there were too many requests
 */
async function update(mayWait = true) {
  clearTimeout(timer);
  kept.keep();
  asked?.abort();
  asked = new AbortController();
  isSettled = false;
  showPrice(form, null);
  try {
    const said = await ask(form, asked.signal, mayWait);
    blame(null);
    showPrice(form, said.quote, said.note);
    showProblem(form, null);
    settings = said.settings;
    isSettled = true;
    need(".settings-json", form).textContent = JSON.stringify(settings, null, 2);
    form.dispatchEvent(new CustomEvent("settled", { detail: settings }));
    return true;
  } catch (error) {
    if (error.name !== "AbortError") {
      blame(error.setting ?? null);
      showProblem(form, reason(error));
    }
    return false;
  }
}

const looking = form.dataset.preview ? look(form, values, (isStep) => changed(isStep)) : null;
if (!looking) for (const element of form.querySelectorAll(".looking")) element.hidden = true;

const history = new History(controls, need("[data-do=undo]", form), need("[data-do=redo]", form), () => changed(false));

/** Marks the groups that contain changed settings and can therefore be reset. */
function markGroups() {
  for (const group of form.querySelectorAll(".group")) group.classList.toggle("touched", group.querySelector(".control.changed") !== null);
}

/** @param {boolean} isStep whether this change is a step of undo */
function changed(isStep) {
  markGroups();
  if (isStep) history.note();
  looking?.preview.changed();
  isSettled = false;
  asked?.abort();
  showPrice(form, null);
  clearTimeout(timer);
  timer = setTimeout(update, REST_MS);
}

form.addEventListener("input", (event) => {
  const control = controls.find((one) => one.inputs.includes(event.target));
  if (!control) return;
  control.refresh();
  // A change of the camera ends the free view, so that the user sees its effect on the camera of the order.
  if (["camera", "path"].includes(control.root.closest(".group").dataset.group)) looking?.view.leave();
  changed(false);
});
form.addEventListener("change", (event) => {
  if (controls.some((one) => one.root.contains(event.target))) changed(true);
});
// The Enter key in a field only applies the value of the field. It does not send the form.
form.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.target instanceof HTMLInputElement)) return;
  event.preventDefault();
  event.target.dispatchEvent(new Event("change", { bubbles: true }));
});
need("[data-do=reset]", form).addEventListener("click", () => {
  for (const control of controls) control.reset();
  changed(true);
});
for (const button of form.querySelectorAll(".reset-group")) {
  button.addEventListener("click", () => {
    for (const control of controls) if (button.parentElement.contains(control.root)) control.reset();
    changed(true);
  });
}
for (const button of form.querySelectorAll("[data-copy]")) {
  const label = button.textContent;
  let shown = 0;
  button.addEventListener("click", async () => {
    if (!isSettled && !(await update(false))) return;
    const isCopied = await copy(copies[button.dataset.copy](settings, form.dataset.model, form.dataset.api));
    button.textContent = isCopied ? "Copied" : "Not copied";
    clearTimeout(shown);
    shown = setTimeout(() => { button.textContent = label; }, 1500);
  });
}
// Requests the price before the order is sent. So if the session has ended, the page shows an error and keeps its settings.
let isAccepted = false;
let sentAt = -Infinity;
form.addEventListener("submit", async (event) => {
  if (event.submitter?.value !== "order" || isAccepted) return;
  event.preventDefault();
  // An order is sent at once or not at all, because the user may not expect it any more after a wait.
  if (performance.now() - sentAt < SENT_MS || !(await update(false))) return;
  sentAt = performance.now();
  isAccepted = true;
  kept.keepOrder();
  form.requestSubmit(event.submitter);
  isAccepted = false;
});
// Shows the control of an invalid field, because the browser can show the error of a field only if the field is visible.
form.addEventListener("invalid", (event) => {
  const control = controls.find((one) => one.inputs.includes(event.target));
  if (control) values.reveal(control.key);
}, true);
looks(form, controls, () => {
  looking?.view.leave();
  changed(true);
});
finder(need("#find-setting", form), form);
// When the user goes back to the page, the browser or `restore` sets the fields. The script updates what depends on them.
const isRestored = controls.some((control) => control.isEdited);
for (const control of controls) control.refresh();
markGroups();
if (isRestored) update();
looking?.preview.changed();
// A change is usually kept when the price is requested, but the user may leave the page before that.
window.addEventListener("beforeunload", () => kept.keep());
window.addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  sentAt = -Infinity;
  update();
});
