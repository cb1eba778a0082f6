// Reads points from a binary PLY file.

/** Size in bytes of each type that a property can have. */
const SIZES = new Map(Object.entries({
  char: 1, uchar: 1, int8: 1, uint8: 1, short: 2, ushort: 2, int16: 2, uint16: 2, int: 4, uint: 4, int32: 4, uint32: 4,
  float: 4, float32: 4, double: 8, float64: 8,
}));
const HEADER_END = "end_header\n";
/** Maximum length of the file's header in bytes. */
const HEADER_BYTES = 4096;

/**
 * @typedef {{ count: number, places: Float32Array, colors: Uint8ClampedArray }} Points
 *   `places` has x, y and z of each point, `colors` red, green and blue
 */

/**
 * Reads the points of a file in the format `binary_little_endian`, whose first element is `vertex`.
 * @param {ArrayBuffer} file
 * @returns {Points}
 */
export function readPoints(file) {
  const text = new TextDecoder("latin1").decode(file.slice(0, HEADER_BYTES));
  const end = text.indexOf(HEADER_END);
  const lines = text.slice(0, Math.max(end, 0)).split("\n").map((line) => line.trim().split(/\s+/));
  if (lines[0]?.[0] !== "ply" || lines[1]?.join(" ") !== "format binary_little_endian 1.0") {
    throw new Error("the file of points is not a binary PLY file");
  }
  let count = 0;
  let row = 0;
  /** @type {Map<string, number>} */
  const at = new Map();
  let elements = 0;
  for (const [word, type, name] of lines) {
    if (word === "element") {
      elements += 1;
      if (elements === 1) count = type === "vertex" ? Number(name) : NaN;
    } else if (word === "property" && elements === 1) {
      at.set(`${type} ${name}`, row);
      row += SIZES.get(type) ?? NaN;
    }
  }
  const offset = (/** @type {string} */ property) => at.get(property) ?? NaN;
  const [x, y, z] = ["x", "y", "z"].map((name) => offset(`float ${name}`));
  const [red, green, blue] = ["red", "green", "blue"].map((name) => offset(`uchar ${name}`));
  const begin = end + HEADER_END.length;
  if (![count, row, x, y, z, red, green, blue].every(Number.isInteger) || begin + count * row > file.byteLength) {
    throw new Error("the file of points is damaged, or has no positions and colours");
  }
  const data = new DataView(file, begin);
  const places = new Float32Array(count * 3);
  const colors = new Uint8ClampedArray(count * 3);
  for (let i = 0; i < count; i += 1) {
    const start = i * row;
    places.set([data.getFloat32(start + x, true), data.getFloat32(start + y, true), data.getFloat32(start + z, true)], i * 3);
    colors.set([data.getUint8(start + red), data.getUint8(start + green), data.getUint8(start + blue)], i * 3);
  }
  return { count, places, colors };
}
