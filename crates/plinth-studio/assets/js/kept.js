// Keeps the values of the composer's controls in the page's entry of the browser's history, so that they are there again when the
// user goes back to the page or reloads it. Firefox does not restore the fields of a page with `no-store`, and no browser restores
// what a script has added to the fields.

/** @typedef {import("./control.js").Control} Control */

/**
 * Keeps the values, or forgets earlier ones if the values are those of the page as the server sent it.
 * @param {Control[]} controls
 */
export function keep(controls) {
  const isEdited = controls.some((control) => control.isEdited);
  const values = Object.fromEntries(controls.map((control) => [control.key, control.names ? control.chosen : control.value]));
  try {
    history.replaceState(isEdited ? { values } : null, "");
  } catch {
    // Safari limits how often a page may change its entry. The values are kept after the next change.
  }
}

/**
 * Sets the controls to the values that were kept.
 * @param {Control[]} controls
 */
export function restore(controls) {
  const values = history.state?.values ?? {};
  for (const control of controls) if (Object.hasOwn(values, control.key)) control.set(values[control.key]);
}
