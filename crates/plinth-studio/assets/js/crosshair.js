// Selects a point of the model with the keyboard: Enter shows a crosshair in the middle of the picture, arrow keys move it, Enter
// selects the point, Escape hides the crosshair.

import { el } from "./dom.js";

/** Distance by which an arrow key moves the crosshair, as a fraction of the picture. With Shift, the distance is five times as long. */
const STEP = 0.02;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/**
 * @param {import("./preview.js").Preview} preview
 * @param {(x: number, y: number) => void} point called with a point of the window
 */
export function crosshair(preview, point) {
  const { stage } = preview;
  const mark = el("span", { className: "crosshair", hidden: true, "aria-hidden": "true" });
  let at = [0.5, 0.5];
  stage.append(mark);
  const place = () => {
    const [box, outer] = [preview.box(), stage.getBoundingClientRect()];
    const [left, top] = [box.left + at[0] * box.width, box.top + at[1] * box.height];
    mark.style.left = `${left - outer.left - stage.clientLeft}px`;
    mark.style.top = `${top - outer.top - stage.clientTop}px`;
    return [left, top];
  };
  const hide = () => { mark.hidden = true; };
  stage.addEventListener("keydown", (event) => {
    if (event.target !== stage || event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = ARROWS[event.key];
    if (mark.hidden) {
      if (event.key !== "Enter") return;
      at = [0.5, 0.5];
      mark.hidden = false;
      place();
      preview.say("Arrow keys move the crosshair; Enter shows what is there");
    } else if (arrow) {
      const step = event.shiftKey ? 5 * STEP : STEP;
      at = at.map((share, i) => Math.min(1, Math.max(0, share + step * arrow[i])));
      place();
    } else if (event.key === "Enter") {
      point(.../** @type {[number, number]} */ (place()));
    } else if (event.key === "Escape") {
      hide();
    } else {
      return;
    }
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);
  stage.addEventListener("pointerdown", hide);
}
