// The composer: sliders, price while settings change, undo, resets, copies. Without this script the form does the same by
// its buttons.

import { copies } from "./copies.js";
import { el, need } from "./dom.js";
import { finder } from "./finder.js";
import { History } from "./history.js";
import { looks } from "./looks.js";
import { Preview } from "./preview.js";
import { NO_ANSWER, ask, showPrice, showProblem } from "./price.js";
import { structure } from "./structure.js";

/** Pause after the last change before the server is asked. */
const REST_MS = 300;

const form = need("form.composer");
const schema = await (await fetch(form.dataset.schema)).json();
const controls = [...form.querySelectorAll(".control")].map((root) => new (class Control {
  key = root.dataset.key;
  root = root;
  inputs = [...root.querySelectorAll("[name]")];

  /** What the control holds, as its default is written. */
  get value() {
    const [first] = this.inputs;
    if (!first) return "";
    if (first.type !== "checkbox") return first.value;
    if (this.inputs.length === 1 && first.value === "on") return String(first.checked);
    return this.inputs.filter((input) => input.checked).map((input) => input.value).join("\n");
  }

  /** @param {unknown} value as in the API; undefined is the default */
  set(value) {
    const written = value === undefined ? root.dataset.default : typeof value === "object" ? JSON.stringify(value) : String(value);
    const isFlag = this.inputs.length === 1 && this.inputs[0].value === "on";
    for (const input of this.inputs) {
      if (input.type === "checkbox") input.checked = isFlag ? written === "true" : Array.isArray(value) && value.includes(input.value);
      else input.value = written;
      // A name that is not among those known is shown as such, not dropped.
      if (input.tagName === "SELECT" && input.value !== written) {
        input.append(el("option", { value: written, textContent: `${written} (not found)`, selected: true }));
      }
    }
    this.refresh();
  }

  reset() {
    this.set(undefined);
  }

  /** Shows the value in whatever stands beside the input. */
  refresh() {
    root.classList.toggle("changed", this.value !== root.dataset.default);
    root.dispatchEvent(new CustomEvent("refresh"));
  }
})());

for (const element of document.querySelectorAll(".scripted[hidden]")) element.hidden = false;
for (const element of form.querySelectorAll(".unscripted")) element.hidden = true;

for (const control of controls) {
  const [input] = control.inputs;
  const title = control.root.querySelector("label, legend")?.textContent.trim() ?? control.key;
  control.root.append(el("button", {
    type: "button", className: "reset", textContent: "Reset", "aria-label": `Reset ${title}`,
    onclick: () => { control.reset(); changed(true); },
  }));
  if (!input) continue;
  if (input.type === "number" && input.min !== "" && input.max !== "") slider(control, input, title);
  if (input.dataset.color !== undefined) swatch(control, input, title);
  if (input.tagName === "TEXTAREA") {
    const names = [...document.querySelectorAll("#material-names option")].map((option) => option.value);
    structure(control, input, schema.properties[control.key], names, () => changed(true));
  }
}

/** Puts a slider beside a number. It has no name, so only the number is sent. */
function slider(control, input, title) {
  const [min, max] = [Number(input.min), Number(input.max)];
  const range = el("input", { type: "range", min, max, step: max - min <= 10 ? 0.01 : max - min <= 100 ? 0.1 : 1, "aria-label": title });
  const box = el("div", { className: "sliding" });
  input.replaceWith(box);
  box.append(range, input);
  const show = () => { range.value = input.value === "" ? String(Math.min(max, Math.max(min, 0))) : input.value; };
  range.addEventListener("input", () => { input.value = range.value; input.dispatchEvent(new Event("input", { bubbles: true })); });
  input.addEventListener("input", show);
  control.root.addEventListener("refresh", show);
  show();
}

/** Puts a picker beside a colour that may be unset. */
function swatch(control, input, title) {
  const picker = el("input", { type: "color", "aria-label": `${title}: choose` });
  const box = el("div", { className: "coloring" });
  input.replaceWith(box);
  box.append(picker, input);
  const show = () => { picker.value = input.checkValidity() && input.value ? input.value : "#ffffff"; };
  picker.addEventListener("input", () => { input.value = picker.value; input.dispatchEvent(new Event("input", { bubbles: true })); });
  control.root.addEventListener("refresh", show);
  show();
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
let timer = 0;
let asked = null;

async function update() {
  asked?.abort();
  asked = new AbortController();
  try {
    const { ok, body } = await ask(form, asked.signal);
    blame(ok ? null : body.error.setting);
    showPrice(form, ok ? body.quote : null);
    showProblem(form, ok ? null : body.error.message);
    if (!ok) return;
    settings = body.settings;
    need(".settings-json", form).textContent = JSON.stringify(settings, null, 2);
    form.dispatchEvent(new CustomEvent("settled", { detail: settings }));
  } catch (error) {
    if (error.name !== "AbortError") showProblem(form, NO_ANSWER);
  }
}

const preview = form.dataset.preview ? new Preview(form, need(".stage", form), need(".scrubber", form)) : null;
if (!preview) need(".scrubber", form).hidden = true;
preview?.steer((key, by, isStep) => {
  const control = controls.find((one) => one.key === key);
  const [input] = control.inputs;
  const [min, max] = [Number(input.min), Number(input.max)];
  let next = Number(input.value) + by;
  // An angle goes on at the other end.
  if (key === "rotateY") next = next > max ? next - (max - min) : next < min ? next + (max - min) : next;
  input.value = String(Math.round(Math.min(max, Math.max(min, next)) * 100) / 100);
  control.refresh();
  changed(isStep);
});

const history = new History(controls, need("[data-do=undo]", form), need("[data-do=redo]", form), () => changed(false));

/** Groups that can be reset. */
function markGroups() {
  for (const group of form.querySelectorAll(".group")) group.classList.toggle("touched", group.querySelector(".control.changed") !== null);
}

/** @param {boolean} isStep whether undo goes back to what was before this change */
function changed(isStep) {
  markGroups();
  if (isStep) history.note();
  preview?.changed();
  clearTimeout(timer);
  timer = setTimeout(update, REST_MS);
}

form.addEventListener("input", (event) => {
  const control = controls.find((one) => one.inputs.includes(event.target));
  if (!control) return;
  control.refresh();
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
  button.addEventListener("click", async () => {
    const said = button.textContent;
    await navigator.clipboard.writeText(copies[button.dataset.copy](settings, form.dataset.model, form.dataset.api));
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = said; }, 1500);
  });
}
looks(form, controls, () => changed(true));
finder(need("#find-setting", form), form);
markGroups();
preview?.changed();
