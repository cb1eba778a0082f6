// The script of every page: shows times in the time zone of the browser, sends a form only once after a double click, and closes menus
// on Escape or on a click elsewhere.

import { showTimes } from "./times.js";

document.documentElement.classList.add("scripted");
showTimes(document);

/** Time after a form was sent in which it is not sent again, in milliseconds. */
const SENT_MS = 5000;
/**
 * When each form was sent.
 * @type {WeakMap<EventTarget, number>}
 */
let sentAt = new WeakMap();
// The browser shows only the second response to a double click: that a link which works once was used before, or the second of two keys.
document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  // If a script of the page sends the form itself, it has prevented that the browser does.
  if (form.method !== "post" || event.defaultPrevented) return;
  const now = performance.now();
  if (now - (sentAt.get(form) ?? -Infinity) < SENT_MS) event.preventDefault();
  else sentAt.set(form, now);
});
window.addEventListener("pageshow", (event) => {
  // After going back, the browser may show the page as it was when the form was sent.
  if (event.persisted) sentAt = new WeakMap();
});

/** @type {NodeListOf<HTMLDetailsElement>} */
const menus = document.querySelectorAll("details.menu");
document.addEventListener("click", (event) => {
  for (const menu of menus) if (!menu.contains(/** @type {Node} */ (event.target))) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of menus) {
    if (!menu.open) continue;
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
