// Draws points and cameras on a canvas.

/** Side of the square of a point, in units of the dataset. The model is two units large. */
const POINT_SIDE = 0.011;
/** Smallest depth at which points are drawn, in units. */
const NEAREST = 0.01;

/**
 * @typedef {{ place: number[], right: number[], up: number[], forward: number[], focal: number }} Eye
 *   position and axes of a camera, and its focal length in pixels
 */

/**
 * Returns a function that projects a point to the canvas. The function returns null for points behind the camera.
 * @param {Eye} eye
 * @param {{ width: number, height: number }} canvas
 */
export function projector(eye, { width, height }) {
  const dot = (/** @type {number[]} */ a, /** @type {number[]} */ b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  return (/** @type {number[]} */ point) => {
    const from = point.map((value, i) => value - eye.place[i]);
    const depth = dot(from, eye.forward);
    if (depth <= NEAREST) return null;
    const scale = eye.focal / depth;
    return [width / 2 + dot(from, eye.right) * scale, height / 2 - dot(from, eye.up) * scale];
  };
}

/**
 * Draws points as squares. If several squares cover a pixel, the nearest one is visible.
 * @param {import("./points.js").Points} points
 * @param {Eye} eye
 * @param {ImageData} image
 * @param {Float32Array} depths depth of each pixel
 */
export function drawPoints({ count, places, colors }, eye, image, depths) {
  const { width, height } = image;
  const pixels = new Uint32Array(image.data.buffer);
  const [[px, py, pz], [rx, ry], [ux, uy, uz], [fx, fy, fz]] = [eye.place, eye.right, eye.up, eye.forward];
  for (let i = 0; i < count; i += 1) {
    const x = places[3 * i] - px;
    const y = places[3 * i + 1] - py;
    const z = places[3 * i + 2] - pz;
    const depth = x * fx + y * fy + z * fz;
    if (depth <= NEAREST) continue;
    const scale = eye.focal / depth;
    const side = Math.min(Math.max(Math.round(POINT_SIDE * scale), 1), 8);
    const left = Math.round(width / 2 + (x * rx + y * ry) * scale - side / 2);
    const top = Math.round(height / 2 - (x * ux + y * uy + z * uz) * scale - side / 2);
    // The bytes of a pixel are red, green, blue and alpha, in this order.
    const color = (255 << 24) | (colors[3 * i + 2] << 16) | (colors[3 * i + 1] << 8) | colors[3 * i];
    for (let row = Math.max(top, 0); row < Math.min(top + side, height); row += 1) {
      for (let column = Math.max(left, 0); column < Math.min(left + side, width); column += 1) {
        const at = row * width + column;
        if (depth >= depths[at]) continue;
        depths[at] = depth;
        pixels[at] = color;
      }
    }
  }
}

/**
 * Draws cameras as pyramids. The tip of a pyramid is the position of the camera.
 * @param {CanvasRenderingContext2D} context
 * @param {Eye} eye
 * @param {number[][][]} poses camera-to-world matrices
 * @param {{ width: number, height: number, focal: number, length: number }} size of the pictures in pixels, and length of
 *   the pyramids in units
 * @param {{ color: string, thickness: number }} line
 */
export function drawCameras(context, eye, poses, { width, height, focal, length }, { color, thickness }) {
  const [side, rise] = [width, height].map((pixels) => (length * pixels) / (2 * focal));
  const corners = [[0, 0, 0], [side, rise, -length], [-side, rise, -length], [-side, -rise, -length], [side, -rise, -length]];
  const project = projector(eye, context.canvas);
  context.beginPath();
  for (const pose of poses) {
    const shown = corners.map(([x, y, z]) =>
      project(pose.slice(0, 3).map((row) => row[0] * x + row[1] * y + row[2] * z + row[3])));
    const [tip, ...rim] = shown.filter((point) => point !== null);
    if (rim.length < 4) continue;
    rim.forEach((corner, i) => {
      const next = rim[(i + 1) % rim.length];
      context.moveTo(tip[0], tip[1]);
      context.lineTo(corner[0], corner[1]);
      context.lineTo(next[0], next[1]);
    });
  }
  context.strokeStyle = color;
  context.lineWidth = thickness;
  context.stroke();
}
