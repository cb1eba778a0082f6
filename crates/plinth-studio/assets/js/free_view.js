// The free view: the preview shows the model from a camera that the user moves freely, independent of the camera of the order. A
// request for a picture contains this camera as the base pose of a camera path. Keyframes are made from its pose.

/** Settings that would move the camera away from the base pose. The free view omits them from requests. */
const OF_PATHS = ["keyframes", "startAngle", "endAngle", "startTilt", "endTilt", "startZoom", "endZoom", "startFov", "endFov", "swayEnabled", "output"];
/** Factor by which one step of zooming changes the distance between camera and target. */
const CLOSER = 0.93;
const [NEAREST, FARTHEST] = [0.05, 100];
/** Smallest angle between the camera and the vertical axis, in degrees. */
const STEEPEST = 0.5;

const radians = (degrees) => (degrees * Math.PI) / 180;
const degrees = (angle) => (angle * 180) / Math.PI;
const plus = (a, b, times) => a.map((number, i) => number + b[i] * times);
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
/** Rounds a number to four decimal places. Further places would not change a picture. */
const rounded = (number) => Math.round(number * 1e4) / 1e4;

/** @typedef {{position: number[], lookAt: number[], fov: number}} Pose as in the setting `keyframes` */

export class FreeView {
  #camera = null;
  #isStarting = false;
  /** Number of times that the free view has ended. */
  #ends = 0;

  /**
   * @param {import("./preview.js").Preview} preview
   * @param {HTMLButtonElement} button starts and ends the free view
   * @param {HTMLElement} note tells the user that the picture does not show the camera of the order
   */
  constructor(preview, button, note) {
    this.preview = preview;
    this.button = button;
    this.note = note;
    button.addEventListener("click", () => (this.isOn ? this.stop() : this.start()));
  }

  get isOn() {
    return this.#camera !== null;
  }

  /** Starts the free view with the camera of the shown picture. */
  async start() {
    if (this.#isStarting) return;
    this.#isStarting = true;
    const ends = this.#ends;
    try {
      const { camera } = await this.preview.surfacesAt(0.5, 0.5);
      // If the free view was ended in the meantime, this camera is obsolete.
      if (ends === this.#ends) this.lookFrom(camera);
    } catch (error) {
      this.preview.say(error instanceof TypeError ? "No answer" : error.message);
    }
    this.#isStarting = false;
  }

  /**
   * Moves the camera to a pose, and shows the model from there.
   * @param {Pose} pose
   */
  lookFrom({ position, lookAt, fov }) {
    const away = plus(position, lookAt, -1);
    const radius = Math.hypot(...away);
    this.#camera = {
      target: lookAt,
      radius,
      theta: degrees(Math.atan2(away[0], away[2])),
      phi: degrees(Math.acos(Math.min(1, Math.max(-1, away[1] / radius)))),
      fov,
    };
    this.preview.view = (body) => {
      for (const key of OF_PATHS) body.delete(key);
      body.set("effect", "keyframes");
      body.set("camera", JSON.stringify(this.#camera));
    };
    this.#show();
  }

  /**
   * Turns the camera towards a point. Starts the free view if it is off.
   * @param {number[]} point
   */
  async lookAt(point) {
    if (!this.isOn) await this.start();
    if (this.isOn) this.lookFrom({ ...this.pose, lookAt: point });
  }

  /** Ends the free view. The next picture shows the camera of the order. */
  leave() {
    this.#ends += 1;
    this.#camera = null;
    this.preview.view = null;
    this.#mark();
  }

  /** Ends the free view, and draws a picture with the camera of the order. */
  stop() {
    this.leave();
    this.preview.changed();
  }

  #show() {
    this.#mark();
    this.preview.changed();
  }

  #mark() {
    this.button.setAttribute("aria-pressed", String(this.isOn));
    this.note.hidden = !this.isOn;
    this.preview.stage.dispatchEvent(new Event("view"));
  }

  /** The direction from the target to the camera. */
  get #back() {
    const { theta, phi } = this.#camera;
    const across = Math.sin(radians(phi));
    return [across * Math.sin(radians(theta)), Math.cos(radians(phi)), across * Math.cos(radians(theta))];
  }

  /**
   * Returns the camera as the pose of a keyframe.
   * @returns {Pose}
   */
  get pose() {
    const { target, radius, fov } = this.#camera;
    return { position: plus(target, this.#back, radius).map(rounded), lookAt: target.map(rounded), fov: rounded(fov) };
  }

  turn(right, up) {
    const camera = this.#camera;
    // The angles stay in the range that the setting `camera` accepts.
    camera.theta = ((((camera.theta + right + 180) % 360) + 360) % 360) - 180;
    camera.phi = Math.min(180 - STEEPEST, Math.max(STEEPEST, camera.phi - up));
    this.preview.changed();
  }

  zoom(steps) {
    const camera = this.#camera;
    camera.radius = Math.min(FARTHEST, Math.max(NEAREST, camera.radius * CLOSER ** steps));
    this.preview.changed();
  }

  pan(right, up) {
    const camera = this.#camera;
    // Computed from `theta` alone, because a camera that looks straight up or down has no direction across the vertical axis.
    const theta = radians(camera.theta);
    const sideways = [Math.cos(theta), 0, -Math.sin(theta)];
    const width = 2 * camera.radius * Math.tan(radians(camera.fov) / 2) * (16 / 9);
    camera.target = plus(plus(camera.target, sideways, -right * width), cross(this.#back, sideways), -up * width);
    this.preview.changed();
  }
}
