// Moves the camera of the preview by dragging, by two fingers, by the wheel and by keys. A click without dragging selects a point of
// the picture.

import { followPointers, notches } from "./gestures.js";

/** Angle by which a drag over the whole width turns the camera, in degrees. */
const TURN = 360;
/** Angle by which one press of a key turns the camera, in degrees. */
const KEY_TURN = 5;
/** Time in milliseconds after which a turn of the wheel or a press of a key has ended, if it is not repeated. */
const REST_MS = 250;
/** Number of parts of a zoom step. One part changes the setting `zoom` by 0.01, which is the precision of the composer. */
const ZOOM_PARTS = 5;
/** Factor by which the distance of two fingers changes for one step of the zoom. */
const PINCH = 1.07;

/**
 * @typedef {object} Camera
 * @property {(right: number, up: number, isKey: boolean) => void} turn turns by degrees
 * @property {(steps: number) => void} zoom moves closer by steps
 * @property {(right: number, up: number) => void} pan moves sideways by fractions of the picture
 * @property {boolean} canPan whether two fingers move the camera sideways
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
  let timer = 0;
  let isKeyPressed = false;
  /** Movement of the zoom that is less than one part of a step, in parts. A slow wheel needs several events for one part. */
  let rest = 0;
  /** @type {Held | null} */
  let held = null;

  /** Zooms by whole parts of a step. */
  const zoom = (steps) => {
    if (rest * steps < 0) rest = 0;
    rest += steps * ZOOM_PARTS;
    const parts = Math.trunc(rest);
    if (parts === 0) return;
    rest -= parts;
    camera.zoom(parts / ZOOM_PARTS);
  };
  /** Ends the movement. */
  const restNow = () => {
    clearTimeout(timer);
    timer = 0;
    camera.rest();
  };
  /** Ends the movement, unless it goes on within `REST_MS`. */
  const restSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(restNow, REST_MS);
  };
  stage.classList.add("live");
  stage.tabIndex = 0;
  stage.setAttribute("role", "group");
  stage.setAttribute("aria-label", "Preview. Arrow keys and plus and minus move the camera. Enter shows a crosshair, with which you point at the model.");
  stage.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (!act || event.target !== stage || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    // A key that stays pressed is one movement.
    clearTimeout(timer);
    timer = 0;
    isKeyPressed = true;
    act();
  });
  for (const kind of ["keyup", "blur"]) {
    stage.addEventListener(kind, () => {
      if (isKeyPressed) restSoon();
      isKeyPressed = false;
    });
  }
  followPointers(stage, {
    begin() {
      // A turn of the wheel before the drag is a movement of its own.
      if (timer !== 0) restNow();
      held = grab();
      rest = 0;
    },
    drag(right, down, event) {
      if (held) held.move(event.clientX, event.clientY);
      else if (event.shiftKey) camera.pan(right / stage.clientWidth, -down / stage.clientWidth);
      else camera.turn((-TURN * right) / stage.clientWidth, (TURN * down) / stage.clientWidth, false);
    },
    pinch(factor, right, down) {
      held?.drop();
      held = null;
      zoom(Math.log(factor) / Math.log(PINCH));
      if (camera.canPan) camera.pan(right / stage.clientWidth, -down / stage.clientWidth);
    },
    end(event, isClick) {
      if (isClick) point(event.clientX, event.clientY);
      else if (held) held.drop();
      else camera.rest();
    },
  });
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    const turned = notches(event);
    if (turned === 0) return;
    zoom(turned);
    restSoon();
  }, { passive: false });
}
