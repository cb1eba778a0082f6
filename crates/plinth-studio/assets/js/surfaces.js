// Shows which surface is at a point of the picture: draws a line around the mesh below the mouse, and opens a menu with the names
// of mesh and material, and with actions.

import { el, svg } from "./dom.js";

/** Distance between the menu and the edge of the window, in pixels. */
const MARGIN = 8;
/** Time for which the mouse must rest before the mesh below it is requested. */
const REST_MS = 150;

/** Returns the label of a surface: its decal, or its mesh and material. */
const nameOf = ({ decal, mesh, material }) => decal ?? (material === null ? mesh : `${mesh}, ${material}`);

export class SurfaceMenu {
  #panel = el("div", { className: "surface-menu", popover: "auto", role: "dialog", "aria-label": "At this point of the picture" });
  #outline = svg("svg", { class: "outline", viewBox: "0 0 1 1", preserveAspectRatio: "none", "aria-hidden": "true" });
  #below = el("span", { className: "below-mouse", hidden: true, "aria-hidden": "true" });
  #number = 0;
  #hovers = 0;
  /** The surface whose name is shown below the mouse. */
  #hovered = null;
  /** The surface whose name was shown when the pointer was pressed. */
  pressed = null;
  /** Cancels the request for the surface below the mouse. */
  #asked = new AbortController();

  /**
   * @param {import("./preview.js").Preview} preview
   * @param {(surface: object) => {label: string, act: () => void, note?: string}[]} actions returns the actions for a surface
   */
  constructor(preview, actions) {
    this.preview = preview;
    this.actions = actions;
    preview.stage.append(this.#outline, this.#below);
    preview.stage.parentElement.append(this.#panel);
    this.#panel.addEventListener("toggle", (event) => {
      if (event.newState === "closed") this.#highlight(null);
    });
    this.#watchMouse();
  }

  get #isOpen() {
    return this.#panel.matches(":popover-open");
  }

  #watchMouse() {
    let timer = 0;
    const forget = () => {
      clearTimeout(timer);
      this.#hovers += 1;
      this.#asked.abort();
      this.#below.hidden = true;
      this.#hovered = null;
      if (!this.#isOpen) this.#highlight(null);
    };
    const { stage, form } = this.preview;
    stage.addEventListener("pointermove", (event) => {
      forget();
      if (event.pointerType === "mouse" && event.buttons === 0) timer = setTimeout(() => this.#hover(event.clientX, event.clientY), REST_MS);
    });
    stage.addEventListener("pointerleave", forget);
    stage.addEventListener("pointerdown", () => {
      this.pressed = this.#hovered;
      forget();
      // The response to an earlier click is ignored, so that its menu does not open during a drag.
      this.#number += 1;
    });
    form.addEventListener("previewed", forget);
  }

  /** Draws a line around the mesh at a point of the window, and shows its name. */
  async #hover(left, top) {
    const at = this.inPicture(left, top);
    if (at === null || this.#isOpen || this.preview.isBusy) return;
    const number = this.#hovers;
    this.#asked = new AbortController();
    try {
      const [nearest] = (await this.preview.surfacesAt(...at, this.#asked.signal)).surfaces;
      if (number !== this.#hovers || this.#isOpen || !nearest) return;
      this.#highlight(nearest);
      this.#hovered = nearest;
      this.#below.textContent = nearest.decal === null ? nameOf(nearest) : `${nameOf(nearest)}: drag it`;
      this.#below.hidden = false;
    } catch {
      // The user has not asked for the name of the surface, so no error is shown. A click would show the error.
    }
  }

  /**
   * Converts a point of the window to fractions of the picture's width and height. Returns null if the point is outside of the
   * picture.
   * @returns {[number, number] | null}
   */
  inPicture(left, top) {
    const box = this.preview.box();
    const at = /** @type {[number, number]} */ ([(left - box.left) / box.width, (top - box.top) / box.height]);
    return at.every((share) => share >= 0 && share <= 1) ? at : null;
  }

  /**
   * Asks which surfaces are at a point of the window, and opens the menu there.
   * @param {number} left
   * @param {number} top
   */
  async open(left, top) {
    const at = this.inPicture(left, top);
    if (at === null) return;
    this.#number += 1;
    const number = this.#number;
    this.preview.say("Looking…");
    try {
      const { surfaces } = await this.preview.surfacesAt(...at);
      // The user has clicked again in the meantime, so this response is ignored.
      if (number !== this.#number) return;
      this.preview.say(surfaces.length === 0 ? "Nothing of the model is here" : "");
      if (surfaces.length === 0) return;
      this.#show(surfaces, 0);
      this.#panel.showPopover();
      this.#place(left, top);
      this.#panel.querySelector("button").focus();
    } catch (error) {
      this.preview.say(error instanceof TypeError ? "No answer" : error.message);
    }
  }

  #place(left, top) {
    const { style, offsetWidth, offsetHeight } = this.#panel;
    const { clientWidth, clientHeight } = document.documentElement;
    style.left = `${Math.max(MARGIN, Math.min(left + MARGIN, clientWidth - offsetWidth - MARGIN))}px`;
    style.top = `${Math.max(MARGIN, Math.min(top + MARGIN, clientHeight - offsetHeight - MARGIN))}px`;
  }

  #show(surfaces, chosen) {
    const surface = surfaces[chosen];
    const what = surface.decal === null ? surface.material ?? "a material without a name" : "a decal";
    /** @type {HTMLElement[]} */
    const parts = [
      el("p", { className: "surface-name" }, el("strong", { textContent: surface.decal ?? surface.mesh }), el("span", { className: "quiet", textContent: what })),
    ];
    for (const { label, act, note } of this.actions(surface)) {
      const button = el("button", { type: "button", textContent: label });
      button.addEventListener("click", () => {
        this.#panel.hidePopover();
        act();
      });
      parts.push(button);
      if (note) parts.push(el("p", { className: "help", textContent: note }));
    }
    if (surfaces.length > 1) parts.push(el("p", { className: "quiet", textContent: "Also at this point" }));
    surfaces.forEach((other, i) => {
      if (i === chosen) return;
      const button = el("button", { type: "button", className: "quiet-button", textContent: nameOf(other) });
      button.addEventListener("click", () => {
        this.#show(surfaces, i);
        this.#panel.querySelector("button").focus();
      });
      for (const kind of ["pointerenter", "focus"]) button.addEventListener(kind, () => this.#highlight(other));
      for (const kind of ["pointerleave", "blur"]) button.addEventListener(kind, () => this.#highlight(surface));
      parts.push(button);
    });
    this.#panel.replaceChildren(...parts);
    this.#highlight(surface);
  }

  /** Draws a line around the mesh of a surface. With null, removes the line. */
  #highlight(surface) {
    if (surface === null) {
      this.#outline.replaceChildren();
      return;
    }
    const [box, outer] = [this.preview.box(), this.preview.stage.getBoundingClientRect()];
    const { style } = this.#outline;
    style.left = `${box.left - outer.left - this.preview.stage.clientLeft}px`;
    style.top = `${box.top - outer.top - this.preview.stage.clientTop}px`;
    style.width = `${box.width}px`;
    style.height = `${box.height}px`;
    const points = surface.outline.map(([x, y]) => `${x},${y}`).join(" ");
    this.#outline.replaceChildren(svg("polygon", { points, class: "halo" }), svg("polygon", { points }));
  }
}
