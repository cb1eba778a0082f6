// Draws one model with three.js for `three.mjs`, with the same light, framing, camera and colours as Plinth.

import * as THREE from 'three';
import { HDRLoader } from 'three/addons/loaders/HDRLoader.js';
import { loadGltf, loadObj } from '/page/three_load.js';

const renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
renderer.setPixelRatio(1);
renderer.toneMapping = THREE.NeutralToneMapping;

/** Even steps at which a clip is looked at for its bounds, as Plinth does. */
const EVEN_TIMES = 32;
/** Keys at which it is looked at, at most. */
const MOST_KEY_TIMES = 64;

/**
 * Draws all views of a row.
 *
 * row: {model, root: folder of an unpacked archive, kind: 'glb' or 'obj', env, size, background, clip: index or null,
 *       shots: [{pose: {position, lookAt, fov}, time: seconds}]}
 * Returns {pictures: [data URL of a PNG], warnings: [text]}.
 */
window.draw = async (row) => {
  const warnings = [];
  for (const level of ['warn', 'error']) {
    console[level] = (...words) => warnings.push(words.map(String).join(' '));
  }
  renderer.setSize(row.size, row.size);
  const scene = new THREE.Scene();
  // In the scene and not only behind the canvas, because glass shows it.
  scene.background = new THREE.Color(row.background);
  scene.environment = await environment(row.env);
  const { root, clips } = row.kind === 'obj' ? await loadObj(row.model, row.root) : await loadGltf(row.model, renderer);
  root.traverse((object) => {
    // Both pictures are lit only by the environment.
    if (object.isLight) object.visible = false;
  });
  const clip = row.clip === null ? null : clips[row.clip];
  const poseAt = player(root, clip);
  scene.add(normalised(root, boundsOverTime(root, clip, poseAt)));
  const pictures = row.shots.map((shot) => {
    poseAt(shot.time);
    const camera = new THREE.PerspectiveCamera(shot.pose.fov, 1, 0.01, 1000);
    camera.position.set(...shot.pose.position);
    camera.lookAt(...shot.pose.lookAt);
    // Rendered twice, because some textures are uploaded only during the first rendering.
    renderer.render(scene, camera);
    renderer.render(scene, camera);
    return renderer.domElement.toDataURL('image/png');
  });
  release(scene);
  return { pictures, warnings: [...new Set(warnings)] };
};

/** Environments that were filtered already, by address. */
const environments = new Map();

async function environment(url) {
  if (!environments.has(url)) {
    const panorama = await new HDRLoader().loadAsync(url);
    panorama.mapping = THREE.EquirectangularReflectionMapping;
    environments.set(url, new THREE.PMREMGenerator(renderer).fromEquirectangular(panorama).texture);
  }
  return environments.get(url);
}

/** Gives the memory of a model back. */
function release(scene) {
  scene.traverse((object) => {
    object.geometry?.dispose();
    for (const material of [object.material ?? []].flat()) {
      Object.values(material).forEach((value) => value?.isTexture && value.dispose());
      material.dispose();
    }
  });
}

/** A function that poses the model at a time of its clip; a time beyond the end is the end. */
function player(root, clip) {
  if (!clip) return () => {};
  const mixer = new THREE.AnimationMixer(root);
  const action = mixer.clipAction(clip);
  action.setLoop(THREE.LoopOnce);
  action.clampWhenFinished = true;
  return (time) => {
    // An action that has ended would stay paused.
    action.reset().play();
    mixer.setTime(time);
  };
}

/** The box of what is drawn, over the whole clip or at rest. */
function boundsOverTime(root, clip, poseAt) {
  const box = new THREE.Box3();
  for (const time of clip ? timesOf(clip) : [0]) {
    poseAt(time);
    root.updateMatrixWorld(true);
    root.traverse((object) => addUsedVertices(object, box));
  }
  return box;
}

function timesOf(clip) {
  const keys = clip.tracks.flatMap((track) => [...track.times]).filter((t) => t <= clip.duration);
  const distinct = [...new Set(keys)].sort((a, b) => a - b);
  const last = distinct.length - 1;
  const few =
    distinct.length <= MOST_KEY_TIMES
      ? distinct
      : Array.from({ length: MOST_KEY_TIMES }, (_, i) => distinct[Math.floor((i * last) / (MOST_KEY_TIMES - 1))]);
  const even = Array.from({ length: EVEN_TIMES + 1 }, (_, i) => (clip.duration * i) / EVEN_TIMES);
  return [...few, ...even];
}

/** Vertices that no index names do not count, as in Plinth. */
function addUsedVertices(object, box) {
  const geometry = object.geometry;
  if (!geometry || !geometry.attributes.position) return;
  const used = new Uint8Array(geometry.attributes.position.count);
  if (geometry.index) geometry.index.array.forEach((vertex) => (used[vertex] = 1));
  else used.fill(1);
  const matrices = [];
  for (let i = 0; object.isInstancedMesh && i < object.count; i++) {
    const instance = new THREE.Matrix4();
    object.getMatrixAt(i, instance);
    matrices.push(instance.premultiply(object.matrixWorld));
  }
  if (!object.isInstancedMesh) matrices.push(object.matrixWorld);
  const point = new THREE.Vector3();
  used.forEach((isUsed, vertex) => {
    if (!isUsed) return;
    for (const matrix of matrices) {
      if (object.getVertexPosition) object.getVertexPosition(vertex, point);
      else point.fromBufferAttribute(geometry.attributes.position, vertex);
      box.expandByPoint(point.applyMatrix4(matrix));
    }
  });
}

/** Centred, its largest side 2 units long. */
function normalised(root, box) {
  const middle = box.getCenter(new THREE.Vector3());
  const size = box.getSize(new THREE.Vector3());
  const outer = new THREE.Group();
  outer.scale.setScalar(2 / Math.max(size.x, size.y, size.z));
  root.position.sub(middle);
  outer.add(root);
  return outer;
}

window.ready = true;
