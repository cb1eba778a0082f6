// Asks the server for the price of an order, and shows the price.

import { el, need } from "./dom.js";
import { post, sendWhenAllowed } from "./session.js";

/**
 * Sends the form without an action, so that the server returns the price. Returns the JSON of the response. After an abort, the
 * promise is rejected with an `AbortError`, even if the response had begun to arrive.
 * @param {HTMLFormElement} form
 * @param {AbortSignal} signal
 * @param {boolean} mayWait whether to wait if there were too many requests, and then to send the form again. The form shows why it waits.
 */
export async function ask(form, signal, mayWait) {
  // `form.action` may be the button with the name `action`, so the attribute is read.
  const address = form.getAttribute("action");
  const send = () => post(address, new URLSearchParams(/** @type {any} */ (new FormData(form))), signal);
  const waiting = (/** @type {string} */ message) => showProblem(form, `Waiting for the price: ${message}`);
  const answer = mayWait ? sendWhenAllowed(send, waiting, signal) : send();
  return answer.finally(() => signal.throwIfAborted());
}

/**
 * Shows a quote, and a note about it. With null, hides the price.
 * @param {HTMLFormElement} form
 * @param {{ creditsRequired: number, creditsAvailable: number, sufficient: boolean } | null} quote
 * @param {string | null} [note]
 */
export function showPrice(form, quote, note) {
  const price = need(".price", form);
  price.replaceChildren();
  if (!quote) return;
  const { creditsRequired, creditsAvailable, sufficient } = quote;
  price.append(
    el("strong", { textContent: creditsRequired === 1 ? "1 credit" : `${creditsRequired} credits` }), " ",
    el("span", { className: "quiet", textContent: `of ${creditsAvailable}${sufficient ? "" : "; the balance does not cover it"}` }),
    ...(note ? [" ", el("span", { className: "quiet", textContent: note })] : []),
  );
}

/**
 * Shows the reason why there is no price. With null, hides an earlier reason.
 * @param {HTMLFormElement} form
 * @param {string | null} message
 */
export function showProblem(form, message) {
  const problem = need(".problem[role=alert]", form);
  problem.hidden = message === null;
  problem.textContent = message ?? "";
}
