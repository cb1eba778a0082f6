// Loads the files that describe a dataset.

/**
 * @typedef {{ id: string, label: string, panel: string }} OfferedLayer
 *   `id` is the folder of the images; `panel` is the part of the overview image that shows the layer
 * @typedef {OfferedLayer & { paths: string[] }} Layer
 *   `paths` contains the path of the image of each view
 * @typedef {{ width: number, height: number, tile: number, step: number, columns: number,
 *   panels: Record<string, [number, number]> }} Overview
 * @typedef {{ folder: string, width: number, height: number, near: number, far: number, focal: number, layers: Layer[],
 *   poses: number[][][], overview: Overview | undefined }} Dataset
 *   `focal` is the focal length in pixels, `poses` contains the camera-to-world matrix of each view; datasets of
 *   earlier versions do not describe their overview
 */

/**
 * Loads a file of the dataset.
 * @param {string} folder address of the dataset
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<Response>}
 */
export async function load(folder, path, signal) {
  const response = await fetch(`${folder}/${path}`, { signal });
  if (!response.ok) throw new Error(`${path} cannot be loaded (status ${response.status})`);
  return response;
}

/**
 * Finds the images of each layer in the list of files. Leaves out layers that do not have an image for each view.
 * @param {OfferedLayer[]} offered
 * @param {{ path: string }[]} files
 * @param {number} views
 * @returns {Layer[]}
 */
function layersOf(offered, files, views) {
  const found = offered.map((layer) => {
    const paths = files.map(({ path }) => path).filter((path) => path.startsWith(`${layer.id}/`)).sort();
    return { ...layer, paths };
  });
  return found.filter(({ paths }) => paths.length === views);
}

/**
 * Reads the description of a dataset.
 * @param {string} folder
 * @param {OfferedLayer[]} offered
 * @returns {Promise<Dataset>}
 */
export async function readDataset(folder, offered) {
  const json = async (/** @type {string} */ path) => (await load(folder, path)).json();
  const [manifest, transforms] = await Promise.all(["manifest.json", "transforms.json"].map(json));
  const poses = transforms.frames.map((/** @type {{ transform_matrix: number[][] }} */ frame) => frame.transform_matrix);
  return {
    folder,
    width: manifest.width,
    height: manifest.height,
    near: transforms.depth_near,
    far: transforms.depth_far,
    focal: transforms.fl_y,
    layers: layersOf(offered, manifest.files, poses.length),
    poses,
    overview: manifest.overview,
  };
}
