// Lists the hidden meshes below the picture, each with a button that shows the mesh again.

import { el } from "./dom.js";

/**
 * @param {HTMLElement} box
 * @param {HTMLElement} stage the picture
 * @param {import("./values.js").Values} values
 */
export function hiddenMeshes(box, stage, values) {
  const set = (names) => {
    values.set("hiddenMeshNames", names);
    values.commit();
  };
  const show = () => {
    const names = values.get("hiddenMeshNames") ?? [];
    box.hidden = names.length === 0;
    const buttons = names.map((name) => {
      const button = el("button", { type: "button", className: "chip", textContent: name, "aria-label": `Show ${name} again` });
      button.addEventListener("click", () => set(names.filter((other) => other !== name)));
      return button;
    });
    const all = el("button", { type: "button", className: "quiet-button", textContent: "Show all" });
    all.addEventListener("click", () => set([]));
    const focused = [...box.querySelectorAll("button")].indexOf(document.activeElement);
    box.replaceChildren(el("span", { className: "quiet", textContent: "Hidden" }), ...buttons, ...(names.length > 1 ? [all] : []));
    // The pressed button was removed, so the focus moves to the next button, or to the picture if there is none.
    const left = box.querySelectorAll("button");
    if (focused >= 0) (left[Math.min(focused, left.length - 1)] ?? stage).focus();
  };
  values.watch("hiddenMeshNames", show);
  show();
}
