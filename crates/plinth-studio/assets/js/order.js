// The page that orders renders of several models with one look: shows the price when the look or the quality changes. Before the
// form is sent, requests the price again. So if the session has ended, the page shows an error and keeps the selection. The page's entry
// of the browser's history keeps the idempotency key and the choices, because a user who goes back to the page gets it with a new key,
// and must not pay twice if the response to the order was lost.

import { need, reason } from "./dom.js";
import { keepInEntry } from "./kept.js";
import { ask, showPrice, showProblem } from "./price.js";

/** Fields that an error of the server names if they have changed since the page was opened. The response to the form shows them anew. */
const OUTDATED = ["look", "model"];

/** @type {HTMLFormElement | null} */
const form = document.querySelector("form.look-order");
/** @type {HTMLButtonElement | null} */
const order = form?.querySelector("button[value=order]");
if (order) {
  /** Shown only if the price could not be requested. */
  const price = /** @type {HTMLButtonElement} */ (need("button[value=price]", form));
  price.hidden = true;
  /** @type {AbortController | null} */
  let asked = null;
  /** Whether the form is being sent, so that the price is not requested again. */
  let isAccepted = false;
  const [key, quality] = [need("[name=key]", form), need("[name=quality]", form)];
  const looks = [...form.querySelectorAll("[name=look]")];

  const keep = () => keepInEntry({ key: key.value, quality: quality.value, look: looks.find((one) => one.checked)?.value });
  const restore = () => {
    const { state } = history;
    if (!state?.key) return;
    key.value = state.key;
    quality.value = state.quality;
    // The look may have been changed or deleted since.
    const look = looks.find((one) => one.value === state.look);
    if (look) look.checked = true;
  };

  /**
   * Requests the price.
   * @param {boolean} mayWait whether to wait if there were too many requests
   * @returns {Promise<"priced" | "outdated" | "failed">}
   */
  const update = async (mayWait) => {
    asked?.abort();
    asked = new AbortController();
    order.hidden = true;
    price.hidden = true;
    showPrice(form, null);
    try {
      const { quote, note } = await ask(form, asked.signal, mayWait);
      showPrice(form, quote, note);
      showProblem(form, null);
      order.hidden = false;
      return "priced";
    } catch (error) {
      if (error.name === "AbortError") return "failed";
      showProblem(form, reason(error));
      price.hidden = false;
      return OUTDATED.includes(error.setting) ? "outdated" : "failed";
    }
  };

  form.addEventListener("change", () => {
    keep();
    update(true);
  });
  form.addEventListener("submit", async (event) => {
    if (isAccepted) return;
    event.preventDefault();
    const { submitter } = event;
    // An order is sent at once or not at all, because the user may not expect it any more after a wait.
    const result = await update(submitter !== order);
    if (result === "outdated" || (result === "priced" && submitter === order)) {
      isAccepted = true;
      keep();
      form.requestSubmit(submitter);
      isAccepted = false;
    } else {
      // The pressed button may be hidden now.
      (order.hidden ? price : order).focus({ preventScroll: true });
    }
  });
  restore();
  // An earlier choice of the user may have been restored, so the price is requested at the start, too.
  if (need(".problem[role=alert]", form).hidden) update(true);
  else order.hidden = false;
}
