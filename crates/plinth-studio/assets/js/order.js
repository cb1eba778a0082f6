// The order of several models with one look: shows the price as soon as the look or the quality changes.

import { el, need } from "./dom.js";

const form = document.querySelector("form.look-order");
const order = form?.querySelector("button[value=order]");
if (order) {
  for (const element of form.querySelectorAll(".unscripted")) element.hidden = true;
  let asked = null;

  const ask = async () => {
    asked?.abort();
    asked = new AbortController();
    const [problem, price] = [need(".problem[role=alert]", form), need(".price", form)];
    order.hidden = true;
    try {
      const answer = await fetch(form.getAttribute("action"), {
        method: "POST", headers: { Accept: "application/json" }, body: new URLSearchParams(new FormData(form)), signal: asked.signal,
      });
      const body = await answer.json();
      problem.hidden = answer.ok;
      price.replaceChildren();
      if (!answer.ok) {
        problem.textContent = body.error.message;
        return;
      }
      const { creditsRequired, creditsAvailable, sufficient } = body.quote;
      price.replaceChildren(
        el("strong", { textContent: creditsRequired === 1 ? "1 credit" : `${creditsRequired} credits` }), " ",
        el("span", { className: "quiet", textContent: `of ${creditsAvailable}${sufficient ? "" : "; the balance does not cover it"}` }),
      );
      order.hidden = false;
    } catch (error) {
      if (error.name === "AbortError") return;
      problem.hidden = false;
      problem.textContent = "The server does not answer. Please try again.";
    }
  };

  form.addEventListener("change", ask);
  // What the page shows at first may be an earlier choice that the browser restored.
  if (need(".problem[role=alert]", form).hidden) ask();
  else order.hidden = false;
}
