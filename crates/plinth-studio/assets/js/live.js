// Follows unfinished renders: updates the shown state, percentage and time left.

import { el, need } from "./dom.js";
import { listen } from "./events.js";
import { showTimes } from "./times.js";

const SIGNED_OUT = "You are no longer signed in, so this page is not updated. Reload the page to sign in again.";

/**
 * Follows the renders that an element shows. The element's attribute `data-events` contains the address of the events. If the
 * session has ended, says so above the element.
 * @param {HTMLElement} area
 * @param {(render: {id: string, status?: string, isFinal?: boolean, gone?: boolean}, before: string | null) => void} changed
 *   called for each event, with the earlier state of the render. A render that is `gone` was deleted, or is in another workspace;
 *   the event has no state.
 * @returns {{ close: () => void }}
 */
export function follow(area, changed) {
  const states = new Map();
  const { following } = area.dataset;
  /** Identifiers of unfinished renders. Events of other renders are ignored: a reopened event stream sends them, too. */
  const unfinished = new Set(following?.split(",") ?? [need(".live-render", area).dataset.render]);
  const receive = (render) => {
    if (!unfinished.has(render.id)) return;
    for (const shown of document.querySelectorAll(".live-render")) {
      if (shown.dataset.render !== render.id) continue;
      if (render.gone) showGone(shown);
      else show(shown, render);
    }
    const before = states.get(render.id) ?? null;
    states.set(render.id, render.status);
    if (render.isFinal || render.gone) unfinished.delete(render.id);
    // When all renders have ended, the server ends the event stream. The page must close it, or the browser would reconnect.
    if (unfinished.size === 0) events.close();
    changed(render, before);
  };
  const events = listen(area.dataset.events, receive, (status) => {
    if (status === 401) area.before(el("p", { className: "problem", role: "alert", textContent: SIGNED_OUT }));
    else for (const id of [...unfinished]) receive({ id, gone: true });
  });
  return events;
}

function show(area, { status, label, fraction, text }) {
  const shown = area.querySelector(".status");
  // Screen readers announce each change of this element, so it is changed only if the state has changed.
  if (shown.textContent !== label) {
    shown.className = `status ${status}`;
    shown.textContent = label;
  }
  area.querySelector("progress").value = fraction;
  area.querySelector(".left").textContent = text;
}

/** Shows that a render was deleted, or that another tab has changed to another workspace. */
function showGone(area) {
  const shown = area.querySelector(".status");
  shown.className = "status failed";
  shown.textContent = "Not found";
  area.querySelector("progress").remove();
  area.querySelector(".left").textContent = "Deleted, or in another workspace";
}

const CONTROLS = "a[href], button, input, summary";

/** Returns a text that identifies a control, and that is the same after the page was loaded again. */
const nameOf = ({ tagName, href, name, value, type, id }) => JSON.stringify([tagName, href, name, isTyped(type) ? id : value]);

/** Whether the user types the value of a field of this type. */
const isTyped = (type) => ["text", "search", "number"].includes(type);

/** Replaces an element by a newly loaded one. Keeps checked boxes, typed text and the focus. */
function replace(old, fresh) {
  /** @type {any} */
  const now = document.activeElement;
  const focused = old.contains(now) ? nameOf(now) : null;
  const checked = new Set([...old.querySelectorAll("input:checked")].map(nameOf));
  const fields = [...old.querySelectorAll("input")].filter((input) => isTyped(input.type) && input.value !== input.defaultValue);
  const typed = new Map(fields.map((input) => [nameOf(input), input.value]));
  old.replaceWith(document.adoptNode(fresh));
  showTimes(fresh);
  for (const control of fresh.querySelectorAll(CONTROLS)) {
    const name = nameOf(control);
    if (checked.has(name)) control.checked = true;
    if (typed.has(name)) control.value = typed.get(name);
    if (name === focused) control.focus({ preventScroll: true });
  }
}

/**
 * The number of the request that loaded an element. Later requests have larger numbers.
 * @type {WeakMap<Element, number>}
 */
const numbers = new WeakMap();
let sent = 0;

/** Whether an element, or an element that contains it, was loaded by a later request. */
function isNewer(element, number) {
  for (let one = element; one; one = one.parentElement) if ((numbers.get(one) ?? 0) > number) return true;
  return false;
}

/**
 * Loads the page again, and replaces one element by the newly loaded one. The browser parses the page without running its
 * scripts. Ignores the response if the response of a later request has already arrived, or if the new element shows another
 * workspace (`data-workspace`), to which another tab has changed.
 * @param {string} id identifier of the element
 * @returns {Promise<HTMLElement | null>} the new element
 */
export function refresh(id) {
  sent += 1;
  const number = sent;
  return new Promise((done) => {
    const request = new XMLHttpRequest();
    request.open("GET", location.href);
    request.responseType = "document";
    request.addEventListener("loadend", () => {
      const [old, fresh] = [document.getElementById(id), request.response?.getElementById(id)];
      const isReplaced = old && fresh && old.dataset.workspace === fresh.dataset.workspace && !isNewer(old, number);
      if (isReplaced) {
        numbers.set(fresh, number);
        replace(old, fresh);
      }
      done(isReplaced ? fresh : null);
    });
    request.send();
  });
}
