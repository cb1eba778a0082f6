// The composer: controls, price while settings change, undo, resets, copies, and what is done by looking at the picture. Without
// this script the form does the same by its buttons.

import { Control } from "./control.js";
import { copy } from "./clipboard.js";
import { copies } from "./copies.js";
import { need, reason } from "./dom.js";
import { finder } from "./finder.js";
import { History } from "./history.js";
import { look } from "./look.js";
import { looks } from "./looks.js";
import { ask, showPrice, showProblem } from "./price.js";
import { structure } from "./structure.js";
import { Values } from "./values.js";

/** Pause after the last change before the server is asked. */
const REST_MS = 300;

const form = need("form.composer");
const schema = await (await fetch(form.dataset.schema)).json();
const controls = [...form.querySelectorAll(".control")].map((root) => new Control(root));
const values = new Values(controls, need("#find-setting", form), () => changed(true));

for (const element of document.querySelectorAll(".scripted[hidden]")) element.hidden = false;
for (const element of form.querySelectorAll(".unscripted")) element.hidden = true;

const materials = [...document.querySelectorAll("#material-names option")].map((option) => option.value);
for (const control of controls) {
  const [input] = control.inputs;
  control.complete(() => changed(true));
  if (input?.tagName === "TEXTAREA") structure(control, input, schema.properties[control.key], materials, () => changed(true));
}

// What the server makes of the form is what is shown, copied and ordered.

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
/** Whether price and settings are those of the form. */
let isSettled = true;
let timer = 0;
let asked = null;

/** Returns whether the server accepts the form as it is now. Without its answer there is no price. */
async function update() {
  clearTimeout(timer);
  asked?.abort();
  asked = new AbortController();
  isSettled = false;
  showPrice(form, null);
  try {
    const said = await ask(form, asked.signal);
    blame(null);
    showPrice(form, said.quote);
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

/** Groups that can be reset. */
function markGroups() {
  for (const group of form.querySelectorAll(".group")) group.classList.toggle("touched", group.querySelector(".control.changed") !== null);
}

/** @param {boolean} isStep whether undo goes back to what was before this change */
function changed(isStep) {
  markGroups();
  if (isStep) history.note();
  looking?.preview.changed();
  isSettled = false;
  showPrice(form, null);
  clearTimeout(timer);
  timer = setTimeout(update, REST_MS);
}

form.addEventListener("input", (event) => {
  const control = controls.find((one) => one.inputs.includes(event.target));
  if (!control) return;
  control.refresh();
  // The change is meant to be seen, so the camera is that of the order again.
  if (["camera", "path"].includes(control.root.closest(".group").dataset.group)) looking?.view.leave();
  changed(false);
});
form.addEventListener("change", (event) => {
  if (controls.some((one) => one.root.contains(event.target))) changed(true);
});
// The Enter key in a field takes its value over; it neither orders nor loads the page again.
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
    if (!isSettled && !(await update())) return;
    const isCopied = await copy(copies[button.dataset.copy](settings, form.dataset.model, form.dataset.api));
    button.textContent = isCopied ? "Copied" : "Not copied";
    clearTimeout(shown);
    shown = setTimeout(() => { button.textContent = label; }, 1500);
  });
}
// An order is sent once the server has answered what it costs: whoever is no longer signed in keeps the settings.
let isOrdered = false;
form.addEventListener("submit", async (event) => {
  if (event.submitter?.value !== "order" || isOrdered) {
    isOrdered = false;
    return;
  }
  event.preventDefault();
  isOrdered = await update();
  if (isOrdered) form.requestSubmit(event.submitter);
});
// The browser shows what is wrong with a field only where the field can be seen.
form.addEventListener("invalid", (event) => {
  const control = controls.find((one) => one.inputs.includes(event.target));
  if (control) values.reveal(control.key);
}, true);
looks(form, controls, () => {
  looking?.view.leave();
  changed(true);
});
finder(need("#find-setting", form), form);
// The browser restores what the fields held when it goes back to the page. Only the fields are restored, not what depends on them.
const isRestored = controls.some((control) => control.isEdited);
for (const control of controls) control.refresh();
markGroups();
if (isRestored) update();
looking?.preview.changed();
window.addEventListener("pageshow", (event) => {
  if (event.persisted) update();
});
