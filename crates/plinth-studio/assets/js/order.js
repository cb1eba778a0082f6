// The order of several models with one look: shows the price as soon as the look or the quality changes.

import { need } from "./dom.js";
import { NO_ANSWER, ask, showPrice, showProblem } from "./price.js";

const form = document.querySelector("form.look-order");
const order = form?.querySelector("button[value=order]");
if (order) {
  for (const element of form.querySelectorAll(".unscripted")) element.hidden = true;
  let asked = null;

  const update = async () => {
    asked?.abort();
    asked = new AbortController();
    order.hidden = true;
    try {
      const { ok, body } = await ask(form, asked.signal);
      showPrice(form, ok ? body.quote : null);
      showProblem(form, ok ? null : body.error.message);
      order.hidden = !ok;
    } catch (error) {
      if (error.name !== "AbortError") showProblem(form, NO_ANSWER);
    }
  };

  form.addEventListener("change", update);
  // What the page shows at first may be an earlier choice that the browser restored.
  if (need(".problem[role=alert]", form).hidden) update();
  else order.hidden = false;
}
