// Follows renders that have not ended: updates state, percent and time left.

import { listen } from "./events.js";

/**
 * Follows the renders of an element, whose events come from its `data-events`.
 * @param {HTMLElement} area
 * @param {(render: {id: string, status: string, isFinal: boolean}, before: string | null) => void} changed
 *   called for each event, with the earlier state of the render
 * @returns {{ close: () => void }}
 */
export function follow(area, changed) {
  const states = new Map();
  let unfinished = (area.dataset.following ?? "1").split(",").length;
  const events = listen(area.dataset.events, (render) => {
    for (const shown of document.querySelectorAll(".live-render")) {
      if (shown.dataset.render === render.id) show(shown, render);
    }
    const before = states.get(render.id) ?? null;
    states.set(render.id, render.status);
    if (render.isFinal) unfinished -= 1;
    // The server ends the stream when all renders have ended. Without this the browser would connect again.
    if (unfinished === 0) events.close();
    changed(render, before);
  });
  return events;
}

function show(area, { status, label, fraction, text }) {
  const shown = area.querySelector(".status");
  // Screen readers are told about a state, not about each percent.
  if (shown.textContent !== label) {
    shown.className = `status ${status}`;
    shown.textContent = label;
  }
  area.querySelector("progress").value = fraction;
  area.querySelector(".left").textContent = text;
}

const CONTROLS = "a[href], button, input, summary";

/** Names a control of a page among all others, also in a newer state of the page. */
const nameOf = ({ tagName, href, name, value }) => JSON.stringify([tagName, href, name, value]);

/** Replaces an element by its new state. Boxes that are checked stay checked, and the focus stays where it is. */
function replace(old, fresh) {
  const now = document.activeElement;
  const focused = old.contains(now) ? nameOf(now) : null;
  const checked = new Set([...old.querySelectorAll("input:checked")].map(nameOf));
  old.replaceWith(document.adoptNode(fresh));
  for (const control of fresh.querySelectorAll(CONTROLS)) {
    const name = nameOf(control);
    if (checked.has(name)) control.checked = true;
    if (name === focused) control.focus({ preventScroll: true });
  }
}

/**
 * Loads the page again and replaces an element of it by its new state. The browser parses the page, without running its
 * scripts.
 * @param {string} id identifier of the element
 * @returns {Promise<HTMLElement | null>} the new element
 */
export function refresh(id) {
  return new Promise((done) => {
    const request = new XMLHttpRequest();
    request.open("GET", location.href);
    request.responseType = "document";
    request.addEventListener("loadend", () => {
      const [old, fresh] = [document.getElementById(id), request.response?.getElementById(id)];
      if (old && fresh) replace(old, fresh);
      done(old && fresh ? fresh : null);
    });
    request.send();
  });
}
