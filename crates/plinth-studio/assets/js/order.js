// The page that orders renders of several models with one look: shows the price when the look or the quality changes.

import { need, reason } from "./dom.js";
import { ask, showPrice, showProblem } from "./price.js";

/** @type {HTMLFormElement | null} */
const form = document.querySelector("form.look-order");
/** @type {HTMLButtonElement | null} */
const order = form?.querySelector("button[value=order]");
if (order) {
  for (const element of form.querySelectorAll(".unscripted")) element.hidden = true;
  /** @type {AbortController | null} */
  let asked = null;

  const update = async () => {
    asked?.abort();
    asked = new AbortController();
    order.hidden = true;
    showPrice(form, null);
    try {
      const { quote, note } = await ask(form, asked.signal);
      showPrice(form, quote, note);
      showProblem(form, null);
      order.hidden = false;
    } catch (error) {
      if (error.name !== "AbortError") showProblem(form, reason(error));
    }
  };

  form.addEventListener("change", update);
  // The browser may have restored an earlier choice of the user, so the price is requested at the start, too.
  if (need(".problem[role=alert]", form).hidden) update();
  else order.hidden = false;
}
