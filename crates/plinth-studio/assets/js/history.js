// Undo and redo of a form's controls.

/** Maximum number of steps that are stored. */
const STEPS = 200;

export class History {
  #steps;
  #place = 0;

  /**
   * @param {{inputs: HTMLInputElement[], refresh: () => void}[]} controls
   * @param {HTMLButtonElement} undo
   * @param {HTMLButtonElement} redo
   * @param {() => void} restored called after an undo or redo
   */
  constructor(controls, undo, redo, restored) {
    this.controls = controls;
    this.buttons = [undo, redo];
    this.restored = restored;
    this.#steps = [this.#state()];
    undo.addEventListener("click", () => this.go(-1));
    redo.addEventListener("click", () => this.go(1));
    document.addEventListener("keydown", (/** @type {any} */ event) => {
      // Text fields have an undo of the browser.
      const isText = event.target instanceof HTMLTextAreaElement || ["text", "search"].includes(event.target.type);
      const key = event.key.toLowerCase();
      const isRedo = key === "y" && event.ctrlKey;
      const isUndo = key === "z" && (event.ctrlKey || event.metaKey);
      if (isText || !(isUndo || isRedo)) return;
      event.preventDefault();
      this.go(isRedo || event.shiftKey ? 1 : -1);
    });
  }

  /** @returns {any[][]} */
  #state() {
    return this.controls.map((control) => control.inputs.map((input) => input.type === "checkbox" ? input.checked : input.value));
  }

  /** Stores the state after a change. */
  note() {
    const state = this.#state();
    if (JSON.stringify(state) === JSON.stringify(this.#steps[this.#place])) return;
    this.#steps = [...this.#steps.slice(0, this.#place + 1), state].slice(-STEPS);
    this.#place = this.#steps.length - 1;
    this.#show();
  }

  go(by) {
    // A value that the user is still typing becomes a step of its own.
    this.note();
    const state = this.#steps[this.#place + by];
    if (!state) return;
    this.#place += by;
    this.controls.forEach((control, i) => {
      control.inputs.forEach((input, k) => {
        if (input.type === "checkbox") input.checked = state[i][k];
        else input.value = state[i][k];
      });
      control.refresh();
    });
    this.#show();
    this.restored();
  }

  #show() {
    this.buttons[0].disabled = this.#place === 0;
    this.buttons[1].disabled = this.#place === this.#steps.length - 1;
  }
}
