// Keeps the values of the composer's controls in the page's entry of the browser's history, so that they are there again when the
// user goes back to the page or reloads it. Firefox does not restore the fields of a page with `no-store`, and no browser restores
// what a script has added to the fields. After an order was sent, its idempotency key is kept, too: the user goes back and sends the
// order again if its response was lost, and must not pay twice.

/** @typedef {import("./control.js").Control} Control */

/** Length of the idempotency keys that this script creates, in bytes. */
const KEY_BYTES = 18;

/**
 * Keeps a value in the page's entry of the browser's history. With null, forgets an earlier one.
 * @param {object | null} state
 */
export function keepInEntry(state) {
  try {
    history.replaceState(state, "");
  } catch {
    // Safari limits how often a page may change its entry. The value is kept after the next change.
  }
}

const newKey = () => [...crypto.getRandomValues(new Uint8Array(KEY_BYTES))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

export class Kept {
  /**
   * The values of the order that was sent, as JSON, and its key; null if no order was sent.
   * @type {{values: string, key: string} | null}
   */
  #sent = null;

  /**
   * @param {Control[]} controls
   * @param {HTMLInputElement} key the field with the idempotency key
   */
  constructor(controls, key) {
    this.controls = controls;
    this.key = key;
  }

  get #values() {
    return Object.fromEntries(this.controls.map((control) => [control.key, control.names ? control.chosen : control.value]));
  }

  /**
   * Keeps the values, or forgets earlier ones if the values are those of the page as the server sent it. With the values of the sent
   * order, the form has its key, and with other values, a new one.
   */
  keep() {
    const values = this.#values;
    const sent = this.#sent;
    const isSent = sent !== null && sent.values === JSON.stringify(values);
    if (isSent) this.key.value = sent.key;
    else if (sent !== null && this.key.value === sent.key) this.key.value = newKey();
    const isEdited = this.controls.some((control) => control.isEdited);
    keepInEntry(isEdited || sent !== null ? { values, sent, isSent } : null);
  }

  /** Keeps the values and the key of an order. Called before the order is sent. */
  keepOrder() {
    this.#sent = { values: JSON.stringify(this.#values), key: this.key.value };
    this.keep();
  }

  /** Sets the controls and the key to what was kept. */
  restore() {
    const { values = {}, sent = null, isSent = false } = history.state ?? {};
    for (const control of this.controls) if (Object.hasOwn(values, control.key)) control.set(values[control.key]);
    if (sent === null) return;
    // A control may not have been able to take its value.
    this.#sent = isSent ? { values: JSON.stringify(this.#values), key: sent.key } : sent;
    if (isSent) this.key.value = sent.key;
  }
}
