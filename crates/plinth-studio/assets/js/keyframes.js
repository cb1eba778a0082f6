// Makes keyframes of the current camera: shows a button for each keyframe, and buttons that add, replace and remove keyframes.

import { el } from "./dom.js";

/** The numbers of a keyframe's pose. The order of the pose's members has no effect on them. */
const numbers = ({ pose: { position, lookAt, fov } }) => [position, lookAt, fov];

/**
 * Returns the number of keyframes before a time of the camera path. The path rests at each keyframe for the time `dwell` and
 * then moves to the next keyframe in the time `segment`. A loop omits a last keyframe that repeats the first one.
 * @param {{pose: import("./free_view.js").Pose, dwell?: number}[]} frames
 * @param {number} segment seconds between two keyframes
 * @param {boolean} isLoop whether the path returns to its first keyframe
 * @param {number} share time as a fraction of the whole path
 */
export function framesBefore(frames, segment, isLoop, share) {
  const dwells = frames.reduce((sum, frame) => sum + (frame.dwell ?? 0), 0);
  const last = frames.at(-1);
  const repeats = frames.length > 2 && !last.dwell && JSON.stringify(numbers(last)) === JSON.stringify(numbers(frames[0]));
  const whole = dwells + segment * (isLoop && !repeats ? frames.length : frames.length - 1);
  let time = share * whole;
  for (let i = 0; i < frames.length; i += 1) {
    time -= (frames[i].dwell ?? 0) + segment;
    if (time < 0) return i + 1;
  }
  return frames.length;
}

/**
 * @param {HTMLElement} box
 * @param {import("./preview.js").Preview} preview
 * @param {import("./free_view.js").FreeView} view
 * @param {import("./values.js").Values} values
 */
export function keyframes(box, preview, view, values) {
  let current = null;
  /** The setting `effect` before the first keyframe was made. */
  let earlier;
  const frames = () => values.get("keyframes") ?? [];
  const write = (next) => {
    if (frames().length === 0) earlier = values.get("effect");
    values.set("keyframes", next.length === 0 ? undefined : next);
    values.set("effect", next.length === 0 ? earlier : "keyframes");
    values.commit();
    show();
  };
  const pose = async () => {
    if (!view.isOn) await view.start();
    return view.isOn ? view.pose : null;
  };

  const add = async () => {
    const here = await pose();
    if (!here) return;
    const all = frames();
    const isInside = all.length > 1 && preview.isMoved && Number(preview.position.value) < 1;
    const at = isInside ? framesBefore(all, Number(values.get("kfSegmentDuration")), values.get("loop") === true, Number(preview.position.value)) : all.length;
    current = at;
    write(all.toSpliced(at, 0, { pose: here }));
  };
  const replace = async () => {
    const here = await pose();
    if (here) write(frames().with(current, { ...frames()[current], pose: here }));
  };
  const remove = () => {
    const at = current;
    current = null;
    write(frames().toSpliced(at, 1));
  };

  const button = (label, act, more = {}) => {
    const made = el("button", { type: "button", textContent: label, ...more });
    made.addEventListener("click", act);
    return made;
  };
  let shown = "";
  const show = () => {
    const all = frames();
    if (current !== null && current >= all.length) current = null;
    const state = JSON.stringify([all.length, current, view.isOn]);
    if (state === shown) return;
    shown = state;
    const hadFocus = box.contains(document.activeElement);
    const chips = all.map((frame, i) => button(String(i + 1), () => {
      current = i;
      view.lookFrom(frame.pose);
      show();
    }, { className: "chip", "aria-label": `Look from keyframe ${i + 1}`, "aria-pressed": current === i }));
    const parts = [button("Keyframe from here", add)];
    if (current !== null) {
      parts.push(button(`Replace ${current + 1}`, replace), button(`Remove ${current + 1}`, remove));
    }
    box.replaceChildren(...chips, ...parts);
    // The pressed button was replaced, so the focus moves to the new button.
    if (hadFocus) box.querySelector("[aria-pressed=true]")?.focus() ?? box.querySelector("button").focus();
  };
  values.watch("keyframes", show);
  preview.stage.addEventListener("view", () => {
    if (!view.isOn) current = null;
    show();
  });
  show();
}
