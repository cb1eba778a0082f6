// Moves the camera of the preview by dragging, by the wheel and by keys. A click without dragging selects a point of
// the picture.

/** Angle by which a drag over the whole width turns the camera, in degrees. */
const TURN = 360;
/** Angle by which one press of a key turns the camera, in degrees. */
const KEY_TURN = 5;
/** A press is a click if the pointer moves by fewer pixels than this before it is released. */
const CLICK_PIXELS = 4;

/**
 * @typedef {object} Camera
 * @property {(right: number, up: number, isStep: boolean) => void} turn turns by degrees
 * @property {(steps: number) => void} zoom moves closer by steps
 * @property {(right: number, up: number) => void} pan moves sideways by fractions of the picture
 * @property {() => void} rest called when the movement has ended
 */

/**
 * @typedef {object} Held an object that the pointer moves instead of the camera
 * @property {(x: number, y: number) => void} move called with a point of the window
 * @property {() => void} drop called when the movement has ended
 */

/**
 * @param {HTMLElement} stage
 * @param {Camera} camera
 * @param {(x: number, y: number) => void} point called with a point of the window
 * @param {() => Held | null} grab called when the pointer is pressed; returns the object that a drag moves, or null for
 *   the camera
 */
export function steer(stage, camera, point, grab) {
  const keys = {
    ArrowLeft: () => camera.turn(KEY_TURN, 0, true),
    ArrowRight: () => camera.turn(-KEY_TURN, 0, true),
    ArrowUp: () => camera.turn(0, KEY_TURN, true),
    ArrowDown: () => camera.turn(0, -KEY_TURN, true),
    "+": () => camera.zoom(1),
    "-": () => camera.zoom(-1),
  };
  let last = null;
  let travelled = 0;
  /** @type {Held | null} */
  let held = null;
  const end = () => (held ? held.drop() : camera.rest());
  stage.classList.add("live");
  stage.tabIndex = 0;
  stage.setAttribute("role", "group");
  stage.setAttribute("aria-label", "Preview. Arrow keys and plus and minus move the camera. Enter shows a crosshair, with which you point at the model.");
  stage.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (!act || event.target !== stage || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  stage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    last = [event.clientX, event.clientY];
    travelled = 0;
    held = grab();
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointermove", (event) => {
    if (last === null) return;
    const [right, down] = [event.clientX - last[0], event.clientY - last[1]];
    travelled += Math.hypot(right, down);
    last = [event.clientX, event.clientY];
    if (travelled < CLICK_PIXELS) return;
    if (held) held.move(event.clientX, event.clientY);
    else if (event.shiftKey) camera.pan(right / stage.clientWidth, -down / stage.clientWidth);
    else camera.turn((-TURN * right) / stage.clientWidth, (TURN * down) / stage.clientWidth, false);
  });
  stage.addEventListener("pointerup", (event) => {
    if (last === null) return;
    last = null;
    if (travelled < CLICK_PIXELS) point(event.clientX, event.clientY);
    else end();
  });
  stage.addEventListener("pointercancel", () => {
    if (last !== null) end();
    last = null;
  });
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    // A wheel that moves only sideways does not zoom.
    if (event.deltaY !== 0) camera.zoom(event.deltaY < 0 ? 1 : -1);
  }, { passive: false });
}
