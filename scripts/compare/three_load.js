// Loads a model with three.js' loaders.

import * as THREE from 'three';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { DRACOLoader } from 'three/addons/loaders/DRACOLoader.js';
import { KTX2Loader } from 'three/addons/loaders/KTX2Loader.js';
import { MTLLoader } from 'three/addons/loaders/MTLLoader.js';
import { OBJLoader } from 'three/addons/loaders/OBJLoader.js';
import { MeshoptDecoder } from 'three/addons/libs/meshopt_decoder.module.js';

const libraries = '/modules/three/examples/jsm/libs';
const draco = new DRACOLoader().setDecoderPath(`${libraries}/draco/gltf/`);
let ktx2 = null;

/** A glTF file with everything that three.js can decode. Returns {root, clips}. */
export async function loadGltf(url, renderer) {
  ktx2 ??= uncompressing(new KTX2Loader().setTranscoderPath(`${libraries}/basis/`), renderer);
  const loader = new GLTFLoader().setDRACOLoader(draco).setMeshoptDecoder(MeshoptDecoder).setKTX2Loader(ktx2);
  const gltf = await loader.loadAsync(url);
  return { root: gltf.scene, clips: gltf.animations };
}

/** A software driver does not show block-compressed textures: they are transcoded to plain RGBA. */
function uncompressing(loader, renderer) {
  loader.detectSupport(renderer);
  for (const format of Object.keys(loader.workerConfig)) loader.workerConfig[format] = false;
  return loader;
}

/**
 * An OBJ of an archive unpacked to a folder; the server finds its files whatever the case and folders of their names.
 *
 * Materials become what Plinth's contract makes of them: rough (roughness 1), not metallic, seen from both sides.
 * Returns {root, clips}.
 */
export async function loadObj(url, folder) {
  const text = await (await fetch(url)).text();
  const loader = new OBJLoader();
  const manager = new THREE.LoadingManager();
  const arrived = new Promise((resolve) => {
    manager.onLoad = resolve;
  });
  manager.setURLModifier((name) => (name.startsWith('blob:') || name.startsWith('data:') ? name : found(folder, name)));
  manager.itemStart('materials');
  const libraries = [...text.matchAll(/^mtllib\s+(.+?)\s*$/gm)].flatMap(([, names]) => librariesOf(names));
  for (const name of libraries) {
    const answer = await fetch(found(folder, name));
    if (!answer.ok) continue;
    const materials = new MTLLoader(manager).parse(await answer.text(), `${folder}/`);
    materials.preload();
    loader.setMaterials(loader.materials ? joined(loader.materials, materials) : materials);
  }
  const root = loader.parse(text.replace(/\\\r?\n/g, ' '));
  manager.itemEnd('materials');
  await arrived;
  root.traverse((object) => {
    if (!object.material) return;
    const rough = (material) => roughened(material, object.geometry.attributes.color !== undefined);
    object.material = Array.isArray(object.material) ? object.material.map(rough) : rough(object.material);
  });
  return { root, clips: [] };
}

/** A line may name several libraries, whose names may hold spaces. */
function librariesOf(names) {
  return names.split(/(?<=\.mtl)\s+/i);
}

function found(folder, name) {
  const base = name.replaceAll('\\', '/').split('/').pop();
  return `${folder}?find=${encodeURIComponent(base)}`;
}

function joined(first, second) {
  Object.assign(first.materials, second.materials);
  Object.assign(first.materialsInfo, second.materialsInfo);
  return first;
}

function roughened(material, hasColors) {
  // `Tr 1` of exporters that mean opacity.
  const opacity = material.opacity || 1;
  // A missing texture would be black.
  const map = material.map?.image ? material.map : null;
  const out = new THREE.MeshStandardMaterial({
    color: map ? 0xffffff : (material.color ?? 0xffffff),
    map,
    alphaMap: material.alphaMap ?? null,
    emissive: material.emissive ?? 0x000000,
    emissiveMap: material.emissiveMap ?? null,
    bumpMap: material.bumpMap ?? null,
    bumpScale: material.bumpScale ?? 1,
    normalMap: material.normalMap ?? null,
    opacity,
    transparent: opacity < 1 || material.alphaMap != null,
    roughness: 1,
    metalness: 0,
    side: THREE.DoubleSide,
    flatShading: material.flatShading,
    vertexColors: hasColors,
  });
  out.name = material.name;
  return out;
}
