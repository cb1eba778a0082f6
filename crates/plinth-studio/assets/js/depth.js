// Reads the 16-bit values of depth images, which browsers would round to 8 bits, and draws them in colours.

const SIGNATURE = 0x89504e47;
/** Value of a pixel without a surface. */
export const NOTHING = 65535;

/**
 * Decompresses zlib data to exactly `length` bytes.
 * @param {Uint8Array[]} pieces
 * @param {number} length
 */
async function inflated(pieces, length) {
  const reader = new Blob(/** @type {BlobPart[]} */ (pieces)).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
  const bytes = new Uint8Array(length);
  for (let at = 0; ; ) {
    const { done, value } = await reader.read();
    if (done && at === length) return bytes;
    if (done || at + value.length > length) throw new Error("the depth image has another size than its header says");
    bytes.set(value, at);
    at += value.length;
  }
}

/**
 * Undoes the filter of each row (PNG specification, chapter 9).
 * @param {Uint8Array} rows each with the number of its filter in front
 * @param {number} width of a row in bytes, without the number of its filter
 * @param {number} step number of bytes of a pixel
 */
function unfilter(rows, width, step) {
  const height = rows.length / (width + 1);
  const out = new Uint8Array(width * height);
  for (let y = 0; y < height; y += 1) {
    const from = y * (width + 1) + 1;
    const to = y * width;
    const filter = rows[from - 1];
    for (let x = 0; x < width; x += 1) {
      const left = x >= step ? out[to + x - step] : 0;
      const above = y > 0 ? out[to + x - width] : 0;
      let guess = 0;
      if (filter === 1) guess = left;
      else if (filter === 2) guess = above;
      else if (filter === 3) guess = (left + above) >> 1;
      else if (filter === 4) {
        const corner = x >= step && y > 0 ? out[to + x - width - step] : 0;
        const [a, b, c] = [Math.abs(above - corner), Math.abs(left - corner), Math.abs(left + above - 2 * corner)];
        guess = a <= b && a <= c ? left : b <= c ? above : corner;
      }
      out[to + x] = rows[from + x] + guess;
    }
  }
  return out;
}

/**
 * Reads a grey PNG file with 16 bits, without interlacing and of the given size.
 * @param {ArrayBuffer} file
 * @param {number} width
 * @param {number} height
 * @returns {Promise<Uint16Array>} the values, row by row
 */
export async function readDepth(file, width, height) {
  const data = new DataView(file);
  const pieces = [];
  let isKnown = false;
  for (let at = 8; at + 12 <= file.byteLength; ) {
    const length = data.getUint32(at);
    const type = String.fromCharCode(...new Uint8Array(file, at + 4, 4));
    if (at + 12 + length > file.byteLength) break;
    if (type === "IHDR" && length === 13) {
      const size = [data.getUint32(at + 8), data.getUint32(at + 12)];
      const [depth, color, , , interlace] = new Uint8Array(file, at + 16, 5);
      isKnown = size[0] === width && size[1] === height && depth === 16 && color === 0 && interlace === 0;
    }
    if (type === "IDAT") pieces.push(new Uint8Array(file, at + 8, length));
    at += 12 + length;
  }
  if (file.byteLength < 8 || data.getUint32(0) !== SIGNATURE || !isKnown) {
    throw new Error(`the depth image is not a grey PNG file with 16 bits and ${width}×${height} pixels`);
  }
  const bytes = unfilter(await inflated(pieces, (width * 2 + 1) * height), width * 2, 2);
  const values = new Uint16Array(width * height);
  for (let i = 0; i < values.length; i += 1) values[i] = (bytes[2 * i] << 8) | bytes[2 * i + 1];
  return values;
}

/** Coefficients of polynomials that M. Zucker fitted to the colour map viridis (S. van der Walt, N. Smith 2015), one row per channel. */
const VIRIDIS = [
  [0.27773, 0.10509, -0.33086, -4.63423, 6.22827, 4.77638, -5.43546],
  [0.00541, 1.40461, 0.21485, -5.7991, 14.17993, -13.74515, 4.64585],
  [0.3341, 1.38459, 0.0951, -19.33244, 56.69055, -65.35303, 26.31244],
];

/**
 * Returns the colour of a depth: yellow is near, violet is far.
 * @param {number} fraction 0 for the smallest and 1 for the largest depth of the dataset
 */
export function depthColor(fraction) {
  const t = 1 - fraction;
  return VIRIDIS.map((terms) => 255 * terms.reduceRight((sum, term) => sum * t + term, 0));
}

/** The colours of 256 steps from the smallest to the largest depth. */
const COLORS = Array.from({ length: 256 }, (_, i) => depthColor(i / 255));

/**
 * Draws a depth image in colours. Pixels without a surface stay transparent.
 * @param {HTMLCanvasElement} canvas
 * @param {Uint16Array} values
 */
export function drawDepth(canvas, values) {
  const context = canvas.getContext("2d");
  if (!context) return;
  const image = context.createImageData(canvas.width, canvas.height);
  for (let i = 0; i < values.length; i += 1) {
    if (values[i] === NOTHING) continue;
    const [red, green, blue] = COLORS[values[i] >> 8];
    image.data[4 * i] = red;
    image.data[4 * i + 1] = green;
    image.data[4 * i + 2] = blue;
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

/**
 * Draws the scale of the colours from near to far.
 * @param {HTMLCanvasElement} canvas
 */
export function drawScale(canvas) {
  const context = canvas.getContext("2d");
  if (!context) return;
  for (let x = 0; x < canvas.width; x += 1) {
    context.fillStyle = `rgb(${depthColor(x / (canvas.width - 1)).map(Math.round).join(" ")})`;
    context.fillRect(x, 0, 1, canvas.height);
  }
}
