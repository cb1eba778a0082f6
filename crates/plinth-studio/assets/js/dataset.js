// The viewer of a dataset: shows all views, the layers of the chosen view, and the cameras around the point cloud.

import { Cloud } from "./cloud.js";
import { load, readDataset } from "./dataset_files.js";
import { el } from "./dom.js";
import { readPoints } from "./points.js";
import { ViewGrid } from "./view_grid.js";
import { ViewStage } from "./view_stage.js";

const VIEW_ANCHOR = /^#view-(\d+)$/;
/** The number of the view in the address of the page. Links to the page can contain it. */
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
      // Some browsers limit how often the address may change. A later change sets the address again.
    }
  };
  const stage = new ViewStage(dataset, choose);
  const grid = new ViewGrid(dataset, choose);
  const cloud = new Cloud(dataset, choose);
  area.replaceChildren(el("div", { className: "dataset-panes" }, stage.element, cloud.element), grid.element);
  choose(viewInAddress());
  // Other anchors, such as the anchor of the link that skips to the content, do not change the view.
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
