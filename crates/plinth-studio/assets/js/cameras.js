// Draws the cameras of a dataset around the model. With a slider or a click on a camera, the user chooses the view that the
// preview shows.

import { el, svg } from "./dom.js";

const [WIDTH, HEIGHT] = [320, 220];
/** Direction from which the drawing shows the model, as azimuth and elevation in degrees. */
const [AZIMUTH, ELEVATION] = [30, 22];
/** Time between the last change of the settings and the request for the cameras. */
const REST_MS = 400;

const radians = (degrees) => (degrees * Math.PI) / 180;
/** Corners of a box, each coordinate as 0 for the smaller or 1 for the larger bound. `EDGES` contains the two corners of each edge. */
const CORNERS = Array.from({ length: 8 }, (_, i) => [i & 1, (i >> 1) & 1, (i >> 2) & 1]);
const EDGES = CORNERS.flatMap((_, i) => [1, 2, 4].filter((bit) => (i & bit) === 0).map((bit) => [i, i | bit]));

/**
 * @param {HTMLElement} box
 * @param {import("./preview.js").Preview} preview
 * @param {import("./free_view.js").FreeView} view
 * @param {import("./values.js").Values} values
 */
export function cameras(box, preview, view, values) {
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "Cameras of the dataset around the model" });
  const range = el("input", { type: "range", id: "dataset-view", min: "1", step: "1", value: "1", disabled: true });
  const label = el("label", { htmlFor: "dataset-view" });
  const about = el("p", { className: "help" });
  box.append(drawing, el("div", {}, el("h2", { textContent: "Cameras" }), label, range, about));
  let [found, asked, timer, number] = [null, "", 0, 0];

  /** Returns the coordinates of a point as seen in the drawing: its distances to the right, upwards and towards the viewer, in units. */
  const turned = ([x, y, z]) => {
    const [a, e] = [radians(AZIMUTH), radians(ELEVATION)];
    const [right, back] = [x * Math.cos(a) - z * Math.sin(a), x * Math.sin(a) + z * Math.cos(a)];
    return [right, y * Math.cos(e) - back * Math.sin(e), back * Math.cos(e) + y * Math.sin(e)];
  };
  const draw = () => {
    const heights = found.positions.map((position) => turned(position)[1]);
    const [lowest, highest] = [Math.min(0, ...heights), Math.max(...heights)];
    const scale = Math.min((0.92 * HEIGHT) / (highest - lowest), (0.46 * WIDTH) / Math.hypot(...found.positions[0]));
    const point = (position) => {
      const [right, up, near] = turned(position);
      return [WIDTH / 2 + right * scale, HEIGHT / 2 - (up - (lowest + highest) / 2) * scale, near];
    };
    const middle = point([0, 0, 0]);
    const chosen = Number(range.value) - 1;
    const corners = CORNERS.map((bits) => point(bits.map((bit, axis) => found.bounds[bit][axis])));
    const edges = EDGES.map(([a, b]) => svg("line", { x1: corners[a][0], y1: corners[a][1], x2: corners[b][0], y2: corners[b][1] }));
    const radius = Math.hypot(...found.positions[0]);
    const dots = found.positions.map((position, i) => {
      const [x, y, near] = point(position);
      const dot = svg("circle", { cx: x, cy: y, r: (i === chosen ? 5 : 2) + near / radius, class: i === chosen ? "chosen" : near < 0 ? "behind" : "" });
      dot.addEventListener("click", () => choose(i));
      return { dot, near };
    });
    const [behind, before] = [dots.filter(({ near }) => near < 0), dots.filter(({ near }) => near >= 0)];
    const aim = point(found.positions[chosen]);
    drawing.replaceChildren(...behind.map(({ dot }) => dot), ...edges,
      svg("line", { x1: aim[0], y1: aim[1], x2: middle[0], y2: middle[1], class: "aim" }), ...before.map(({ dot }) => dot));
    label.textContent = `View ${chosen + 1} of ${found.positions.length}`;
    about.textContent = `Each camera is ${radius.toFixed(2)} units away from the middle of the model, whose longest side is 2 units. Its field of view is ${found.fov.toFixed(1)}°.`;
  };
  const choose = (i) => {
    range.value = String(i + 1);
    draw();
    view.lookFrom({ position: found.positions[i], lookAt: [0, 0, 0], fov: found.fov });
  };
  range.addEventListener("input", (event) => {
    event.stopPropagation();
    choose(Number(range.value) - 1);
  });
  range.addEventListener("change", (event) => event.stopPropagation());

  const load = async () => {
    const body = new URLSearchParams(/** @type {any} */ (new FormData(preview.form)));
    if (body.toString() === asked) return;
    asked = body.toString();
    number += 1;
    const own = number;
    try {
      const answer = await preview.answer("cameras", body);
      if (own !== number) return;
      found = answer;
      range.max = String(found.positions.length);
      range.disabled = false;
      draw();
    } catch (error) {
      if (own !== number) return;
      asked = "";
      if (found === null) about.textContent = error instanceof TypeError ? "No answer" : error.message;
    }
  };
  const update = () => {
    box.hidden = values.get("output") !== "dataset";
    clearTimeout(timer);
    if (!box.hidden) timer = setTimeout(load, REST_MS);
  };
  preview.form.addEventListener("settled", update);
  values.watch("output", update);
  update();
}
