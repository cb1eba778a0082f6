// Follows renders that have not ended: updates state, percent and time left.

import { need } from "./dom.js";
import { listen } from "./events.js";
import { showTimes } from "./times.js";

/**
 * Follows the renders of an element, whose events come from its `data-events`.
 * @param {HTMLElement} area
 * @param {(render: {id: string, status: string, isFinal: boolean}, before: string | null) => void} changed
 *   called for each event, with the earlier state of the render
 * @returns {{ close: () => void }}
 */
export function follow(area, changed) {
  const states = new Map();
  const { following } = area.dataset;
  /** Renders that have not ended. A reopened stream also sends events of renders that have ended. */
  const unfinished = new Set(following?.split(",") ?? [need(".live-render", area).dataset.render]);
  const events = listen(area.dataset.events, (render) => {
    if (!unfinished.has(render.id)) return;
    for (const shown of document.querySelectorAll(".live-render")) {
      if (shown.dataset.render === render.id) show(shown, render);
    }
    const before = states.get(render.id) ?? null;
    states.set(render.id, render.status);
    if (render.isFinal) unfinished.delete(render.id);
    // The server ends the stream when all renders have ended. If it were not closed here, the browser would reconnect.
    if (unfinished.size === 0) events.close();
    changed(render, before);
  });
  return events;
}

function show(area, { status, label, fraction, text }) {
  const shown = area.querySelector(".status");
  // Screen readers announce a new state, but not each percent.
  if (shown.textContent !== label) {
    shown.className = `status ${status}`;
    shown.textContent = label;
  }
  area.querySelector("progress").value = fraction;
  area.querySelector(".left").textContent = text;
}

const CONTROLS = "a[href], button, input, summary";

/** Returns a text that identifies a control on the page, also after the page was loaded again. */
const nameOf = ({ tagName, href, name, value, type, id }) => JSON.stringify([tagName, href, name, isTyped(type) ? id : value]);

/** Whether the user types the value of a field of this type. */
const isTyped = (type) => ["text", "search", "number"].includes(type);

/** Replaces an element by its new state. Checked boxes, typed text and the focus stay. */
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
 * For each loaded element, the number of its request; later requests have larger numbers.
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
 * Loads the page again and replaces an element of it by its new state. The browser parses the page, without running its
 * scripts. A response is ignored if that of a later request has arrived before.
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
      const isReplaced = old && fresh && !isNewer(old, number);
      if (isReplaced) {
        numbers.set(fresh, number);
        replace(old, fresh);
      }
      done(isReplaced ? fresh : null);
    });
    request.send();
  });
}
