// Connects everything in the composer that uses the preview: camera, time, comparison, and selecting points of the
// model.

import { cameras } from "./cameras.js";
import { compare } from "./compare.js";
import { crosshair } from "./crosshair.js";
import { decalDrag } from "./decal_drag.js";
import { decalPlacer } from "./decals.js";
import { need } from "./dom.js";
import { FreeView } from "./free_view.js";
import { hiddenMeshes } from "./hidden_meshes.js";
import { keyframes } from "./keyframes.js";
import { Preview } from "./preview.js";
import { steer } from "./steer.js";
import { surfaceActions } from "./surface_actions.js";
import { SurfaceMenu } from "./surfaces.js";
import { timeline } from "./timeline.js";

/** Amount by which one step changes the setting `zoom`. */
const ZOOM_STEP = 0.05;

/**
 * @param {HTMLFormElement} form
 * @param {import("./values.js").Values} values
 * @param {(isStep: boolean) => void} changed
 */
export function look(form, values, changed) {
  const preview = new Preview(form, need(".stage", form), need(".scrubber", form), need(".preview-state", form));
  const view = new FreeView(preview, need("[data-view=free]", form), need(".view-note", form));

  /** Adds `by` to the setting `key`, and keeps the setting in its range. The movement becomes a step of undo when it rests. */
  const move = (key, by) => {
    const control = values.controls.get(key);
    const [input] = control.inputs;
    const [min, max] = [Number(input.min), Number(input.max)];
    let next = Number(input.value) + by;
    // Angles wrap around.
    if (key === "rotateY") next = next > max ? next - (max - min) : next < min ? next + (max - min) : next;
    input.value = String(Math.round(Math.min(max, Math.max(min, next)) * 100) / 100);
    control.refresh();
    changed(false);
  };
  /** Whether the free view is used. A drag starts it if the camera follows keyframes, because `rotateY` and `zoom` have no effect then. */
  const isFree = () => {
    const isPath = values.get("effect") === "keyframes" && (values.get("keyframes") ?? values.get("camera")) !== undefined;
    if (isPath && !view.isOn) view.start();
    return isPath || view.isOn;
  };
  const camera = {
    turn(right, up, isKey) {
      if (isFree()) {
        if (view.isOn) view.turn(right, up);
      } else if (right !== 0) {
        move("rotateY", right);
      } else if (isKey) {
        camera.zoom(Math.sign(up));
      }
    },
    zoom(steps) {
      if (!isFree()) move("zoom", ZOOM_STEP * steps);
      else if (view.isOn) view.zoom(steps);
    },
    get canPan() {
      return view.isOn;
    },
    pan(right, up) {
      if (view.isOn) view.pan(right, up);
      else view.start();
    },
    rest() {
      if (!view.isOn) changed(true);
    },
  };

  const placeDecal = decalPlacer(form, values, (message) => preview.say(message));
  const menu = new SurfaceMenu(preview, surfaceActions(values, view, placeDecal));
  const point = (left, top) => menu.open(left, top);
  crosshair(preview, point);
  steer(preview.stage, camera, point, decalDrag(preview, values, menu));
  keyframes(need(".keyframes", form), preview, view, values);
  hiddenMeshes(need(".hidden-meshes", form), preview.stage, values);
  compare(need("[data-view=compare]", form), preview);
  cameras(need(".dataset-cameras", form), preview, view, values);
  const clips = new Map([...document.querySelectorAll("#clip-lengths option")].map((option) => [option.value, Number(option.label)]));
  timeline(need(".timeline", form), need(".clock", form), need("[data-view=play]", form), preview, values, clips);
  return { preview, view };
}
