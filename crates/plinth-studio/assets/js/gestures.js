// Gestures of pointers and wheels. One pointer drags. Two pointers zoom by the change of their distance, and move by their midpoint.

/** A press is a click if the pointer moves by fewer pixels than this before it is released. */
const CLICK_PIXELS = 4;
/** Distance in pixels by which browsers scroll for one notch of a mouse wheel. Trackpads send many events with small parts of it. */
const NOTCH_PIXELS = 100;
/** Lines of text that a notch scrolls in browsers that measure the wheel in lines. */
const NOTCH_LINES = 3;
/** Factor for a pinch on a trackpad, which browsers report as small movements of a wheel with the Ctrl key. */
const TRACKPAD_PINCH = 10;

/** @typedef {[number, number]} Place left and top in pixels of the window */

/**
 * @typedef {object} Gesture
 * @property {() => void} [begin] called when the first pointer is pressed
 * @property {(right: number, down: number, event: PointerEvent) => void} drag called when the only pressed pointer has moved by
 *   this distance in pixels, and is no click any more
 * @property {(factor: number, right: number, down: number) => void} pinch called when one of two pressed pointers has moved, with
 *   the factor by which their distance has changed, and the movement of their midpoint in pixels
 * @property {(event: PointerEvent, isClick: boolean) => void} end called when the last pointer is released
 */

/** @param {Place[]} places the places of two pointers */
const distance = ([a, b]) => Math.max(1, Math.hypot(a[0] - b[0], a[1] - b[1]));

/**
 * Reports the gestures on an element. Ignores a third pointer and all mouse buttons but the first.
 * @param {HTMLElement} element
 * @param {Gesture} gesture
 */
export function followPointers(element, gesture) {
  /**
   * The last places of the pressed pointers, by their identifiers.
   * @type {Map<number, Place>}
   */
  const pressed = new Map();
  /** Largest distance of the first pointer from the place where it was pressed. */
  let travelled = 0;
  /** @type {Place} */
  let start = [0, 0];
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || pressed.size === 2) return;
    if (pressed.size === 0) {
      travelled = 0;
      start = [event.clientX, event.clientY];
      gesture.begin?.();
    } else {
      // Two pointers are no click.
      travelled = CLICK_PIXELS;
    }
    pressed.set(event.pointerId, [event.clientX, event.clientY]);
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    const last = pressed.get(event.pointerId);
    if (!last) return;
    const before = [...pressed.values()];
    pressed.set(event.pointerId, [event.clientX, event.clientY]);
    const [right, down] = [event.clientX - last[0], event.clientY - last[1]];
    if (before.length === 2) {
      gesture.pinch(distance([...pressed.values()]) / distance(before), right / 2, down / 2);
      return;
    }
    travelled = Math.max(travelled, Math.hypot(event.clientX - start[0], event.clientY - start[1]));
    if (travelled >= CLICK_PIXELS) gesture.drag(right, down, event);
  });
  /** @param {PointerEvent} event */
  const release = (event) => {
    if (!pressed.delete(event.pointerId) || pressed.size > 0) return;
    gesture.end(event, event.type === "pointerup" && travelled < CLICK_PIXELS);
  };
  // A pointer whose release the browser does not report loses at least its capture.
  element.addEventListener("pointerup", release);
  element.addEventListener("pointercancel", release);
  element.addEventListener("lostpointercapture", release);
}

/**
 * Returns by how many notches a wheel was turned away from the user, which is a fraction for a trackpad. A wheel that moves only
 * sideways returns 0.
 * @param {WheelEvent} event
 */
export function notches(event) {
  const { deltaMode, deltaY } = event;
  if (deltaMode === WheelEvent.DOM_DELTA_LINE) return -deltaY / NOTCH_LINES;
  if (deltaMode === WheelEvent.DOM_DELTA_PAGE) return -deltaY;
  const turned = -deltaY / NOTCH_PIXELS;
  return event.ctrlKey ? Math.min(1, Math.max(-1, turned * TRACKPAD_PINCH)) : turned;
}
