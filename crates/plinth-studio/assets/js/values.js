// Reads and writes the values of controls, for scripts that change settings.

/** @typedef {{key: string, root: HTMLElement, inputs: HTMLInputElement[], names: HTMLElement | null, value: string, set: (value: unknown) => void, refresh: () => void}} Control */

export class Values {
  /**
   * @param {Control[]} controls
   * @param {HTMLInputElement} find the search field, which hides controls that do not contain its words
   * @param {() => void} commit must be called after a change, so that the change becomes a step of undo
   */
  constructor(controls, find, commit) {
    this.controls = new Map(controls.map((control) => [control.key, control]));
    this.find = find;
    this.commit = commit;
  }

  /** Returns the value of a setting, as in the API. Returns undefined if the setting is unset or cannot be parsed. */
  get(key) {
    const { value, inputs, names } = this.controls.get(key);
    if (names) return value === "" ? [] : value.split("\n");
    if (inputs[0]?.type === "checkbox") return value === "true";
    if (value.trim() === "") return undefined;
    if (inputs[0]?.tagName !== "TEXTAREA") return value;
    try {
      return JSON.parse(value);
    } catch {
      return undefined;
    }
  }

  /** @param {unknown} value as in the API; undefined is the default */
  set(key, value) {
    this.controls.get(key).set(value);
  }

  /** Calls `changed` whenever the value of a setting may have changed. */
  watch(key, changed) {
    this.controls.get(key).root.addEventListener("refresh", changed);
  }

  /**
   * Shows a control: opens its group, and ends a search that hides it.
   * @returns {HTMLElement}
   */
  reveal(key) {
    const { root } = this.controls.get(key);
    const group = root.closest("details");
    if (root.hidden || group.hidden) {
      this.find.value = "";
      this.find.dispatchEvent(new Event("input"));
    }
    group.open = true;
    root.scrollIntoView({ block: "center" });
    return root;
  }
}
