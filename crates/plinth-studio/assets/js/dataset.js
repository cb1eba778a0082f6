// The viewer of a dataset: its views, one of them large with its layers, and the cameras around the points.

import { Cloud } from "./cloud.js";
import { load, readDataset } from "./dataset_files.js";
import { el } from "./dom.js";
import { readPoints } from "./points.js";
import { ViewGrid } from "./view_grid.js";
import { ViewStage } from "./view_stage.js";

const VIEW_ANCHOR = /^#view-(\d+)$/;
/** The view in the address of the page, so that links can refer to a view. */
const viewInAddress = () => Number(VIEW_ANCHOR.exec(location.hash)?.[1] ?? 0);

/** @param {HTMLElement} area */
async function start(area) {
  const dataset = await readDataset(area.dataset.folder ?? "", JSON.parse(area.dataset.layers ?? "[]"));
  /** @param {number} wanted */
  const choose = (wanted) => {
    const view = Math.min(Math.max(wanted, 0), dataset.poses.length - 1);
    stage.show(view);
    grid.mark(view);
    cloud.mark(view);
    try {
      history.replaceState(null, "", `#view-${view}`);
    } catch {
      // Some browsers limit how often the address may change. The address is correct again after a later change.
    }
  };
  const stage = new ViewStage(dataset, choose);
  const grid = new ViewGrid(dataset, choose);
  const cloud = new Cloud(dataset, choose);
  area.replaceChildren(el("div", { className: "dataset-panes" }, stage.element, cloud.element), grid.element);
  choose(viewInAddress());
  // Other anchors, such as that of the link to the content, do not change the view.
  window.addEventListener("hashchange", () => {
    if (VIEW_ANCHOR.test(location.hash)) choose(viewInAddress());
  });
  try {
    cloud.fill(readPoints(await (await load(dataset.folder, "points3d.ply")).arrayBuffer()));
  } catch (error) {
    cloud.fail(/** @type {Error} */ (error).message);
  }
}

for (const area of document.querySelectorAll(".dataset")) {
  start(/** @type {HTMLElement} */ (area)).catch((error) => {
    area.replaceChildren(el("p", { className: "problem", role: "alert" },
      `The views cannot be shown: ${error.message}. The download below has the whole dataset.`));
  });
}
