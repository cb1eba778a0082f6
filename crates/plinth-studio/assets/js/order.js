// The page that orders renders of several models with one look: shows the price when the look or the quality changes. Before the
// form is sent, requests the price again. So if the session has ended, the page shows an error and keeps the selection.

import { need, reason } from "./dom.js";
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

  /**
   * Requests the price.
   * @returns {Promise<"priced" | "outdated" | "failed">}
   */
  const update = async () => {
    asked?.abort();
    asked = new AbortController();
    order.hidden = true;
    price.hidden = true;
    showPrice(form, null);
    try {
      const { quote, note } = await ask(form, asked.signal);
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

  form.addEventListener("change", update);
  form.addEventListener("submit", async (event) => {
    if (isAccepted) return;
    event.preventDefault();
    const { submitter } = event;
    const result = await update();
    if (result === "outdated" || (result === "priced" && submitter === order)) {
      isAccepted = true;
      form.requestSubmit(submitter);
      isAccepted = false;
    } else {
      // The pressed button may be hidden now.
      (order.hidden ? price : order).focus({ preventScroll: true });
    }
  });
  // The browser may have restored an earlier choice of the user, so the price is requested at the start, too.
  if (need(".problem[role=alert]", form).hidden) update();
  else order.hidden = false;
}
