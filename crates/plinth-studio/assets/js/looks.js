// Looks in the composer: applies a look to the controls as one step of undo, and saves the settings as a new look.

import { el, need, reason } from "./dom.js";
import { post } from "./session.js";

/**
 * @param {HTMLFormElement} form
 * @param {{key: string, set: (value: unknown) => void}[]} controls
 * @param {() => void} applied called after a look has been applied
 */
export function looks(form, controls, applied) {
  const list = need(".look-grid", form);
  list.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-settings]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const settings = JSON.parse(link.dataset.settings);
    for (const control of controls) control.set(settings[control.key]);
    for (const group of form.querySelectorAll(".group[data-group]")) {
      if (group.querySelector(".control.changed")) group.open = true;
    }
    for (const other of list.querySelectorAll("a")) other.removeAttribute("aria-current");
    link.setAttribute("aria-current", "true");
    applied();
  });

  const name = need("#look_name", form);
  const button = need("button[value=save-look]", form);
  const state = need(".look-state", form);
  // Otherwise, the composer would handle the Enter key as a change of a setting.
  name.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    event.stopPropagation();
    button.click();
  });
  button.addEventListener("click", async (event) => {
    event.preventDefault();
    const body = new URLSearchParams(/** @type {any} */ (new FormData(form)));
    body.set("action", "save-look");
    state.className = "look-state";
    state.textContent = "Saving…";
    try {
      const said = await post(form.getAttribute("action"), body);
      state.textContent = `Saved as “${said.look.name}”.`;
      const settings = JSON.stringify(said.look.settings);
      const known = [...list.querySelectorAll("a")].find((link) => link.dataset.look === said.look.id);
      if (known) known.dataset.settings = settings;
      else list.prepend(tile(said.look, settings));
      // The user may have typed the name of another look in the meantime, which must not be deleted.
      if (name.value === body.get("look_name")) {
        name.value = "";
        need("[name=look_replace]", form).checked = false;
      }
    } catch (error) {
      state.className = "look-state problem";
      state.textContent = reason(error);
    }
  });
}

function tile(look, settings) {
  return el("a", { className: "look-choice", href: `?look=${encodeURIComponent(look.id)}`, "data-look": look.id, "data-settings": settings },
    el("span", { className: "picture" }, el("span", { className: "no-picture", textContent: "No picture yet" })),
    el("span", { className: "name", textContent: look.name }));
}
