// The controls of the settings form: reads and writes their values, and adds sliders and colour pickers beside their
// inputs.

import { el } from "./dom.js";

/** A control of one setting. */
export class Control {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.key = root.dataset.key;
    /** @type {HTMLInputElement[]} */
    this.inputs = [...root.querySelectorAll("[name]")];
    /**
     * The list with a box for each name; null for a control of another kind, such as a switch, which also has a box.
     * @type {HTMLElement | null}
     */
    this.names = root.querySelector(".names-list");
    this.title = root.querySelector("label, legend")?.textContent.trim() ?? this.key;
  }

  /** The value of the control, in the same text format as its default in `data-default`. */
  get value() {
    const [first] = this.inputs;
    if (!first) return "";
    if (first.type !== "checkbox") return first.value;
    if (!this.names) return String(first.checked);
    return this.chosen.join("\n");
  }

  /** The names whose boxes are checked. */
  get chosen() {
    return this.inputs.filter((input) => input.checked).map((input) => input.value);
  }

  /** Whether the value differs from the value in the page as the server sent it. */
  get isEdited() {
    return this.inputs.some((input) => {
      if (input.type === "checkbox") return input.checked !== input.defaultChecked;
      if (input.tagName !== "SELECT") return input.value !== input.defaultValue;
      // Without a selected option, browsers show the first option.
      const { options } = /** @type {any} */ (input);
      const initial = [...options].find((option) => option.defaultSelected) ?? options[0];
      return input.value !== (initial?.value ?? "");
    });
  }

  /** Adds boxes for names that the model does not have, so that they are not lost. */
  #addNames(names) {
    const known = new Set(this.inputs.map((input) => input.value));
    for (const name of new Set(names)) {
      if (!this.names || known.has(name)) continue;
      const box = el("input", { type: "checkbox", name: this.key, value: name });
      this.names.append(el("label", { className: "choice" }, box, ` ${name} (not found)`));
      this.inputs.push(box);
    }
  }

  /** @param {unknown} value as in the API; undefined is the default */
  set(value) {
    if (Array.isArray(value)) this.#addNames(value);
    const written = value === undefined ? this.root.dataset.default : typeof value === "object" ? JSON.stringify(value) : String(value);
    for (const input of this.inputs) {
      if (input.type === "checkbox") input.checked = this.names ? Array.isArray(value) && value.includes(input.value) : written === "true";
      else input.value = written;
      // An unknown name is added as an option, so that it is not lost.
      if (input.tagName === "SELECT" && input.value !== written) {
        input.append(el("option", { value: written, textContent: `${written} (not found)`, selected: true }));
      }
    }
    this.refresh();
  }

  reset() {
    this.set(undefined);
  }

  /** Marks whether the value differs from its default, and tells the slider, the colour picker and watchers that it may have changed. */
  refresh() {
    this.root.classList.toggle("changed", this.value !== this.root.dataset.default);
    this.root.dispatchEvent(new CustomEvent("refresh"));
  }

  /** Adds the controls that need a script: the reset button, a slider, a colour picker. */
  complete(changed) {
    const [input] = this.inputs;
    const reset = el("button", { type: "button", className: "reset", textContent: "Reset", "aria-label": `Reset ${this.title}` });
    reset.addEventListener("click", () => {
      const hasFocus = reset.matches(":focus-visible");
      this.reset();
      changed();
      // The button is hidden now, so the focus moves to another control.
      const controls = [...this.root.querySelectorAll("button, input, select, textarea")];
      if (hasFocus) controls.find((one) => one !== reset && one.checkVisibility())?.focus();
    });
    this.root.append(reset);
    if (!input) return;
    if (input.type === "number" && input.min !== "" && input.max !== "") slider(this, input);
    if (input.dataset.color !== undefined) swatch(this, input);
  }
}

/** Puts a slider beside a number. The slider has no name, so the form sends only the number. */
function slider(control, input) {
  const [min, max] = [Number(input.min), Number(input.max)];
  const step = max - min <= 10 ? 0.01 : max - min <= 100 ? 0.1 : 1;
  // The slider starts at a multiple of its step, so that it can reach round values, which most defaults are.
  const first = Number((Math.ceil(min / step) * step).toFixed(2));
  const range = el("input", { type: "range", min: first, max, step, "aria-label": control.title });
  const box = el("div", { className: "sliding" });
  input.replaceWith(box);
  box.append(range, input);
  // If the field is empty, the slider shows the default.
  const empty = control.root.dataset.default || String(Math.min(max, Math.max(min, 0)));
  const show = () => { range.value = input.value === "" ? empty : input.value; };
  range.addEventListener("input", () => { input.value = range.value; input.dispatchEvent(new Event("input", { bubbles: true })); });
  input.addEventListener("input", show);
  control.root.addEventListener("refresh", show);
  show();
}

/** Puts a colour picker beside the text field of a colour that may be unset. */
function swatch(control, input) {
  const picker = el("input", { type: "color", "aria-label": `${control.title}: choose` });
  const box = el("div", { className: "coloring" });
  input.replaceWith(box);
  box.append(picker, input);
  const show = () => { picker.value = input.checkValidity() && input.value ? input.value : "#ffffff"; };
  picker.addEventListener("input", () => { input.value = picker.value; input.dispatchEvent(new Event("input", { bubbles: true })); });
  control.root.addEventListener("refresh", show);
  show();
}
