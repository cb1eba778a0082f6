// Shows all views of a dataset as small pictures, which are cut out of the dataset's overview image.

import { el } from "./dom.js";

/** Smallest and largest side of a picture on the page, in CSS pixels. */
const SIDES = [72, 128];

export class ViewGrid {
  /**
   * @param {import("./dataset_files.js").Dataset} dataset
   * @param {(view: number) => void} choose called when the user chooses a view
   */
  constructor(dataset, choose) {
    this.overview = dataset.overview;
    this.address = `${dataset.folder}/overview.webp`;
    this.tiles = dataset.poses.map((_, view) => {
      const picture = el("span", { className: "view-picture", "aria-hidden": "true" });
      const button = el("button", { type: "button", tabIndex: -1 }, picture, el("span", { className: "unseen" }, "View "), String(view));
      button.addEventListener("click", () => choose(view));
      return button;
    });
    this.list = el("ul", { className: "view-grid" }, ...this.tiles.map((tile) => el("li", {}, tile)));
    this.list.addEventListener("keydown", (event) => this.move(event, choose));
    const layers = dataset.layers.filter(({ panel }) => dataset.overview?.panels[panel]);
    const select = /** @type {HTMLSelectElement} */ (
      el("select", { id: "grid-layer" }, ...layers.map(({ panel, label }) => el("option", { value: panel }, label)))
    );
    select.addEventListener("change", () => this.draw(select.value));
    const choice = el("div", { className: "grid-choice", hidden: layers.length < 2 },
      el("label", { htmlFor: "grid-layer" }, "Layer"), select);
    this.element = el("section", { className: "card views", "aria-label": "All views" },
      el("div", { className: "head" }, el("h2", {}, `All ${dataset.poses.length} views`), choice), this.list);
    if (layers.length > 0) this.draw(layers[0].panel);
  }

  /**
   * Shows a layer.
   * @param {string} panel
   */
  draw(panel) {
    const { overview } = this;
    if (!overview) return;
    const side = Math.min(Math.max(overview.tile, SIDES[0]), SIDES[1]);
    const scale = side / overview.tile;
    const [left, top] = overview.panels[panel];
    this.tiles.forEach((tile, view) => {
      const picture = /** @type {HTMLElement} */ (tile.firstElementChild);
      const x = left + (view % overview.columns) * overview.step;
      const y = top + Math.floor(view / overview.columns) * overview.step;
      picture.style.width = picture.style.height = `${side}px`;
      picture.style.backgroundImage = `url("${this.address}")`;
      picture.style.backgroundSize = `${overview.width * scale}px ${overview.height * scale}px`;
      picture.style.backgroundPosition = `${-x * scale}px ${-y * scale}px`;
    });
  }

  /**
   * Marks the current view. The Tab key moves the focus to this view, the arrow keys move it to other views.
   * @param {number} view
   */
  mark(view) {
    this.tiles.forEach((tile, i) => {
      tile.tabIndex = i === view ? 0 : -1;
      if (i === view) tile.setAttribute("aria-current", "true");
      else tile.removeAttribute("aria-current");
    });
    this.view = view;
    const { offsetTop, offsetHeight } = this.tiles[view];
    const { scrollTop, clientHeight } = this.list;
    if (offsetTop < scrollTop || offsetTop + offsetHeight > scrollTop + clientHeight) this.list.scrollTop = offsetTop - offsetHeight / 2;
  }

  /**
   * @param {KeyboardEvent} event
   * @param {(view: number) => void} choose
   */
  move(event, choose) {
    const perRow = this.tiles.filter((tile) => tile.offsetTop === this.tiles[0].offsetTop).length;
    const last = this.tiles.length - 1;
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -perRow, ArrowDown: perRow, Home: -last, End: last };
    const step = steps[/** @type {keyof typeof steps} */ (event.key)];
    if (step === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const target = Math.min(Math.max((this.view ?? 0) + step, 0), last);
    choose(target);
    this.tiles[target].focus();
  }
}
