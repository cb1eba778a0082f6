// The preview: pictures by the renderer itself. A small one while something changes, the full one when it rests. One request at
// a time, so that a slow renderer is never behind by more than one picture.

import { el } from "./dom.js";

const SMALL = 640;
const FULL = 1280;
/** Pause after the last change before the full picture is asked for. */
const REST_MS = 600;
/** How far a drag over the whole width turns the camera, in degrees. */
const TURN = 360;
/** What keys do to the camera: setting and step. */
const KEYS = {
  ArrowLeft: ["rotateY", 5], ArrowRight: ["rotateY", -5],
  ArrowUp: ["zoom", 0.05], ArrowDown: ["zoom", -0.05], "+": ["zoom", 0.05], "-": ["zoom", -0.05],
};

export class Preview {
  #wanted = null;
  #isBusy = false;
  #rest = 0;

  /**
   * @param {HTMLFormElement} form
   * @param {HTMLElement} stage
   * @param {HTMLElement} scrubber
   */
  constructor(form, stage, scrubber) {
    this.form = form;
    this.stage = stage;
    this.position = scrubber.querySelector("input");
    this.state = scrubber.querySelector("output");
    this.isMoved = false;
    this.position.addEventListener("input", () => {
      this.isMoved = true;
      this.changed();
    });
    scrubber.hidden = false;
  }

  /** Something has changed: a small picture at once, the full one later. */
  changed() {
    clearTimeout(this.#rest);
    this.#ask(SMALL);
  }

  #ask(longest) {
    this.#wanted = longest;
    if (!this.#isBusy) this.#work();
  }

  async #work() {
    this.#isBusy = true;
    while (this.#wanted !== null) {
      const longest = this.#wanted;
      this.#wanted = null;
      await this.#draw(longest);
      // The rest begins when the small picture is there: a full one in between would delay the next change.
      if (longest === SMALL && this.#wanted === null) this.#rest = setTimeout(() => this.#ask(FULL), REST_MS);
    }
    this.#isBusy = false;
  }

  async #draw(longest) {
    const body = new URLSearchParams(new FormData(this.form));
    body.set("longest", longest);
    if (longest === SMALL) body.set("draft", "on");
    if (this.isMoved) body.set("position", this.position.value);
    this.state.textContent = "Drawing…";
    const begin = performance.now();
    try {
      const answer = await fetch(this.form.dataset.preview, { method: "POST", headers: { Accept: "application/json" }, body });
      if (!answer.ok) {
        // What is wrong with the settings stands beside the price.
        this.state.textContent = answer.status === 400 ? "No preview" : (await answer.json()).error.message;
        return;
      }
      const address = URL.createObjectURL(await answer.blob());
      const picture = el("img", { src: address, alt: "Preview of the render", draggable: false });
      await picture.decode();
      const earlier = this.stage.querySelector("img")?.src;
      this.stage.replaceChildren(picture);
      if (earlier?.startsWith("blob:")) URL.revokeObjectURL(earlier);
      const seconds = `${((performance.now() - begin) / 1000).toFixed(1)} s`;
      this.state.textContent = longest === FULL ? `Drawn in ${seconds}` : `Draft, ${seconds}`;
      this.form.dispatchEvent(new CustomEvent("previewed", { detail: longest }));
    } catch {
      this.state.textContent = "No answer";
    }
  }

  /**
   * Dragging and arrow keys turn the camera and the wheel zooms, by the settings that do the same.
   * @param {(key: string, by: number, isStep: boolean) => void} move changes a number
   */
  steer(move) {
    let last = null;
    this.stage.classList.add("live");
    this.stage.tabIndex = 0;
    this.stage.setAttribute("role", "group");
    this.stage.setAttribute("aria-label", "Preview. Arrow keys left and right turn the camera, up and down zoom.");
    this.stage.addEventListener("keydown", (event) => {
      const [key, by] = KEYS[event.key] ?? [];
      if (!key || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      move(key, by, true);
    });
    this.stage.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      last = event.clientX;
      this.stage.setPointerCapture(event.pointerId);
    });
    this.stage.addEventListener("pointermove", (event) => {
      if (last === null) return;
      move("rotateY", (TURN * (last - event.clientX)) / this.stage.clientWidth, false);
      last = event.clientX;
    });
    const end = () => {
      if (last === null) return;
      last = null;
      move("rotateY", 0, true);
    };
    this.stage.addEventListener("pointerup", end);
    this.stage.addEventListener("pointercancel", end);
    this.stage.addEventListener("wheel", (event) => {
      event.preventDefault();
      move("zoom", event.deltaY < 0 ? 0.05 : -0.05, true);
    }, { passive: false });
  }
}
