// Shows one view of a dataset in a large picture: switches between its layers, and compares two layers with a slider.

import { NOTHING, drawDepth, drawScale, readDepth } from "./depth.js";
import { load } from "./dataset_files.js";
import { el } from "./dom.js";

const DEPTH = "depth_16bit";
/** Number of decimal places of the shown depths. */
const DIGITS = 3;

export class ViewStage {
  /**
   * @param {import("./dataset_files.js").Dataset} dataset
   * @param {(view: number) => void} choose called when the user chooses another view
   */
  constructor(dataset, choose) {
    this.dataset = dataset;
    this.view = 0;
    /** @type {Uint16Array | null} */
    this.depth = null;
    this.stopping = new AbortController();
    this.number = /** @type {HTMLInputElement} */ (
      el("input", { type: "number", id: "view-number", min: "0", max: String(dataset.poses.length - 1), value: "0" })
    );
    this.number.addEventListener("change", () => choose(Math.trunc(this.number.valueAsNumber || 0)));
    const step = (/** @type {string} */ text, /** @type {number} */ by) => {
      const button = el("button", { type: "button" }, text);
      button.addEventListener("click", () => choose(this.view + by));
      return button;
    };
    this.first = this.select("Layer", "view-layer", dataset.layers);
    this.second = this.select("Compare with", "view-second", [{ id: "", label: "Nothing" }, ...dataset.layers]);
    this.share = /** @type {HTMLInputElement} */ (
      el("input", { type: "range", min: "0", max: "100", value: "50", "aria-label": "Boundary between the two layers" })
    );
    this.share.addEventListener("input", () => this.divide());
    this.under = el("div", { className: "view-layer" });
    this.over = el("div", { className: "view-layer over" });
    this.frame = el("div", { className: "view-frame" }, this.under, this.over);
    this.frame.style.aspectRatio = `${dataset.width} / ${dataset.height}`;
    this.frame.addEventListener("pointermove", (event) => this.measure(event));
    this.frame.addEventListener("pointerleave", () => { this.measured.textContent = ""; });
    this.measured = el("output", { className: "measured", "aria-live": "off" });
    this.scale = this.scaleOf();
    this.note = el("p", { className: "help", role: "status" });
    this.element = el("section", { className: "card", "aria-label": "One view" },
      el("div", { className: "head" }, el("h2", {}, "View"),
        el("div", { className: "view-steps" }, step("Previous", -1), el("label", { htmlFor: "view-number", className: "unseen" },
          "Number of the view"), this.number, step("Next", 1))),
      el("div", { className: "view-choices" }, ...this.first.parts, ...this.second.parts),
      this.frame, this.share, this.scale, this.note);
  }

  /**
   * @param {string} label
   * @param {string} id
   * @param {{ id: string, label: string }[]} layers
   */
  select(label, id, layers) {
    const field = /** @type {HTMLSelectElement} */ (
      el("select", { id }, ...layers.map((layer) => el("option", { value: layer.id }, layer.label)))
    );
    field.addEventListener("change", () => this.show(this.view));
    return { field, parts: [el("div", {}, el("label", { htmlFor: id }, label), field)] };
  }

  /** Creates the colour scale of depth with its smallest and largest value, and the text with the depth at the pointer. */
  scaleOf() {
    const canvas = /** @type {HTMLCanvasElement} */ (
      el("canvas", { className: "depth-scale", width: 256, height: 1, "aria-hidden": "true" })
    );
    drawScale(canvas);
    const { near, far } = this.dataset;
    return el("div", { className: "depth-legend" }, el("span", {}, `Near: ${near.toFixed(DIGITS)} units`), canvas,
      el("span", {}, `Far: ${far.toFixed(DIGITS)} units`), this.measured);
  }

  /**
   * Shows a view with the chosen layers. The previous pictures stay visible until the new ones are loaded.
   * @param {number} view
   */
  async show(view) {
    this.view = view;
    this.number.value = String(view);
    this.stopping.abort();
    this.stopping = new AbortController();
    const { signal } = this.stopping;
    const chosen = [this.first.field.value, this.second.field.value].filter((id) => id !== "");
    this.frame.setAttribute("aria-busy", "true");
    this.note.textContent = "Loading…";
    try {
      const pictures = await Promise.all(chosen.map((id) => this.picture(id, view, signal)));
      if (signal.aborted) return;
      this.depth = pictures.find(({ depth }) => depth)?.depth ?? null;
      this.under.replaceChildren(pictures[0].shown);
      this.over.replaceChildren(...pictures.slice(1).map(({ shown }) => shown));
      this.note.className = "help";
      this.note.replaceChildren(...pictures.flatMap(({ file, path }, i) => [i > 0 ? " · " : "", el("a", { href: file }, path)]));
    } catch (error) {
      if (signal.aborted) return;
      this.note.className = "problem";
      this.note.textContent = `${/** @type {Error} */ (error).message}.`;
    }
    const isCompared = chosen.length > 1;
    this.over.hidden = this.share.hidden = !isCompared;
    this.scale.hidden = !chosen.includes(DEPTH);
    this.measured.textContent = "";
    this.divide();
    this.frame.removeAttribute("aria-busy");
  }

  /**
   * Loads the image of a layer.
   * @param {string} id
   * @param {number} view
   * @param {AbortSignal} signal
   */
  async picture(id, view, signal) {
    const { folder, layers, width, height } = this.dataset;
    const layer = layers.find((one) => one.id === id);
    if (!layer) throw new Error("the dataset has no images");
    const path = layer.paths[view];
    const file = `${folder}/${path}`;
    const text = `${layer.label} of view ${view}`;
    if (id === DEPTH) {
      const depth = await readDepth(await (await load(folder, path, signal)).arrayBuffer(), width, height);
      const canvas = /** @type {HTMLCanvasElement} */ (el("canvas", { width, height, role: "img", "aria-label": text }));
      drawDepth(canvas, depth);
      return { shown: canvas, depth, file, path };
    }
    const image = /** @type {HTMLImageElement} */ (el("img", { src: file, alt: text, draggable: false }));
    await image.decode().catch(() => { throw new Error(`${path} cannot be loaded`); });
    return { shown: image, depth: null, file, path };
  }

  /** Moves the boundary between the two layers. */
  divide() {
    this.over.style.clipPath = `inset(0 0 0 ${this.share.value}%)`;
    this.frame.style.setProperty("--boundary", `${this.share.value}%`);
    this.frame.classList.toggle("compared", !this.over.hidden);
  }

  /**
   * Shows the depth at the pointer.
   * @param {PointerEvent} event
   */
  measure(event) {
    if (!this.depth) return;
    const { width, height, near, far } = this.dataset;
    const box = this.frame.getBoundingClientRect();
    const at = (/** @type {number} */ offset, /** @type {number} */ length, /** @type {number} */ pixels) =>
      Math.min(Math.max(Math.floor((offset / length) * pixels), 0), pixels - 1);
    const x = at(event.clientX - box.left, box.width, width);
    const y = at(event.clientY - box.top, box.height, height);
    const value = this.depth[y * width + x];
    const depth = (value / NOTHING) * (far - near) + near;
    this.measured.textContent = `Pixel ${x}, ${y}: ${value === NOTHING ? "no surface" : `${depth.toFixed(DIGITS)} units`}`;
  }
}
