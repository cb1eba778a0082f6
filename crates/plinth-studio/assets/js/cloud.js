// Shows the point cloud and the cameras of a dataset, seen from a camera that the user turns around them.

import { drawCameras, drawPoints, projector } from "./cloud_drawing.js";
import { el } from "./dom.js";
import { followPointers, notches } from "./gestures.js";

/** Angle in radians by which an arrow key turns the camera. */
const TURN = Math.PI / 24;
/** Factor by which a key or a notch of the wheel changes the distance of the camera. */
const ZOOM = 1.15;
/** Largest elevation of the camera, in radians. */
const STEEPEST = Math.PI / 2 - 0.01;
/** Largest distance in CSS pixels between a click and the drawn camera that the click chooses. */
const REACH = 16;
/** Length of the drawn cameras, as a fraction of the dataset cameras' distance from the centre. */
const CAMERA_LENGTH = 0.05;

export class Cloud {
  /**
   * @param {import("./dataset_files.js").Dataset} dataset
   * @param {(view: number) => void} choose called when the user clicks on a camera
   */
  constructor(dataset, choose) {
    this.dataset = dataset;
    this.choose = choose;
    this.chosen = 0;
    this.isWaiting = false;
    // Position of the camera that looks at the points: angles in radians, and distance from the centre in units.
    this.azimuth = 0;
    this.elevation = 0;
    this.distance = 1;
    /** @type {import("./points.js").Points | null} */
    this.points = null;
    this.places = dataset.poses.map((pose) => [pose[0][3], pose[1][3], pose[2][3]]);
    this.reach = Math.max(...this.places.map((place) => Math.hypot(...place)), 1e-3);
    this.canvas = /** @type {HTMLCanvasElement} */ (el("canvas", { className: "cloud", tabIndex: 0, role: "application",
      "aria-label": "Cameras and points. Arrow keys turn, plus and minus zoom, Home goes back." }));
    const through = el("button", { type: "button" }, "Look through the camera of the view");
    through.addEventListener("click", () => this.lookThrough());
    const whole = el("button", { type: "button" }, "Show all");
    whole.addEventListener("click", () => this.reset());
    this.note = el("p", { className: "help", role: "status" }, "Loading the points…");
    this.element = el("section", { className: "card", "aria-label": "Cameras and points" },
      el("div", { className: "head" }, el("h2", {}, "Cameras and points")), this.canvas,
      el("div", { className: "cloud-bar" }, through, whole), this.note);
    this.follow();
    this.reset();
    new ResizeObserver(() => this.redraw()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
  }

  /** @param {import("./points.js").Points} points */
  fill(points) {
    this.points = points;
    this.note.textContent = `${points.count.toLocaleString("en")} points, ${this.places.length} cameras. Drag or use the ` +
      "arrow keys to turn, the wheel, two fingers or + and − to zoom. A click on a camera opens its view.";
    this.redraw();
  }

  /** @param {string} problem */
  fail(problem) {
    this.note.className = "problem";
    this.note.textContent = `The points cannot be shown: ${problem}.`;
  }

  /**
   * Highlights the camera of a view.
   * @param {number} view
   */
  mark(view) {
    this.chosen = view;
    this.redraw();
  }

  /** Moves the camera so far away that all cameras of the dataset are visible. */
  reset() {
    const half = Math.atan(this.dataset.height / (2 * this.dataset.focal));
    this.turnTo(-Math.PI / 3, Math.PI / 7, (this.reach * (1 + 2 * CAMERA_LENGTH)) / Math.sin(half));
  }

  /** Moves the camera to the position of the chosen view's camera. Both look at the centre. */
  lookThrough() {
    const [x, y, z] = this.places[this.chosen];
    const distance = Math.hypot(x, y, z);
    this.turnTo(Math.atan2(y, x), Math.asin(z / distance), distance);
  }

  /**
   * @param {number} azimuth in radians
   * @param {number} elevation in radians
   * @param {number} distance from the centre, in units
   */
  turnTo(azimuth, elevation, distance) {
    this.azimuth = azimuth;
    this.elevation = Math.min(Math.max(elevation, -STEEPEST), STEEPEST);
    this.distance = Math.min(Math.max(distance, this.reach * 0.1), this.reach * 10);
    this.redraw();
  }

  follow() {
    const { canvas } = this;
    followPointers(canvas, {
      drag: (right, down) => {
        const scale = Math.PI / canvas.clientWidth;
        this.turnTo(this.azimuth - right * scale, this.elevation + down * scale, this.distance);
      },
      pinch: (factor) => this.turnTo(this.azimuth, this.elevation, this.distance / factor),
      end: (event, isClick) => {
        const view = isClick ? this.cameraAt(event) : null;
        if (view !== null) this.choose(view);
      },
    });
    canvas.addEventListener("pointermove", (event) => {
      if (event.buttons === 0) canvas.classList.toggle("on-camera", this.cameraAt(event) !== null);
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.turnTo(this.azimuth, this.elevation, this.distance * ZOOM ** -notches(event));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const { azimuth, elevation, distance } = this;
      const moves = {
        ArrowLeft: () => this.turnTo(azimuth - TURN, elevation, distance),
        ArrowRight: () => this.turnTo(azimuth + TURN, elevation, distance),
        ArrowUp: () => this.turnTo(azimuth, elevation + TURN, distance),
        ArrowDown: () => this.turnTo(azimuth, elevation - TURN, distance),
        "+": () => this.turnTo(azimuth, elevation, distance / ZOOM),
        "-": () => this.turnTo(azimuth, elevation, distance * ZOOM),
        Home: () => this.reset(),
      };
      const move = moves[/** @type {keyof typeof moves} */ (event.key)];
      if (!move) return;
      event.preventDefault();
      move();
    });
  }

  /** Draws once before the browser's next frame, however often it is called until then. */
  redraw() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.draw();
    });
  }

  /**
   * Returns the camera from which the points are drawn.
   * @returns {import("./cloud_drawing.js").Eye}
   */
  eye() {
    const [c, s] = [Math.cos(this.azimuth), Math.sin(this.azimuth)];
    const [high, flat] = [Math.sin(this.elevation), Math.cos(this.elevation)];
    const forward = [-flat * c, -flat * s, -high];
    const [right, up] = [[-s, c, 0], [-high * c, -high * s, flat]];
    const focal = (this.dataset.focal / this.dataset.height) * Math.min(this.canvas.width, this.canvas.height);
    return { place: forward.map((value) => -value * this.distance), right, up, forward, focal };
  }

  draw() {
    const { canvas } = this;
    const ratio = Math.min(window.devicePixelRatio, 2);
    const [width, height] = [canvas.clientWidth * ratio, canvas.clientHeight * ratio].map(Math.round);
    if (width === 0 || height === 0) return;
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const context = canvas.getContext("2d");
    if (!context) return;
    const eye = this.eye();
    const image = context.createImageData(width, height);
    const depths = new Float32Array(width * height).fill(Infinity);
    if (this.points) drawPoints(this.points, eye, image, depths);
    context.putImageData(image, 0, 0);
    const others = this.dataset.poses.filter((_, view) => view !== this.chosen);
    const style = getComputedStyle(canvas);
    const size = { ...this.dataset, length: this.reach * CAMERA_LENGTH };
    drawCameras(context, eye, others, size, { color: style.getPropertyValue("--quiet"), thickness: ratio });
    const chosen = [this.dataset.poses[this.chosen]];
    drawCameras(context, eye, chosen, size, { color: style.getPropertyValue("--danger"), thickness: 2 * ratio });
  }

  /**
   * Returns the view whose drawn camera is nearest to the pointer, or null if no camera is near.
   * @param {MouseEvent} event
   */
  cameraAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const ratio = this.canvas.width / this.canvas.clientWidth;
    const x = (event.clientX - box.left - this.canvas.clientLeft) * ratio;
    const y = (event.clientY - box.top - this.canvas.clientTop) * ratio;
    const project = projector(this.eye(), this.canvas);
    let found = null;
    let least = REACH * ratio;
    this.places.forEach((place, view) => {
      const at = project(place);
      const distance = at ? Math.hypot(at[0] - x, at[1] - y) : Infinity;
      if (distance < least) [found, least] = [view, distance];
    });
    return found;
  }
}
