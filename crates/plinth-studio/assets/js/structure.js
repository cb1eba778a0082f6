// Controls for settings that are lists or objects, made from their JSON Schema. They write JSON into the setting's text area,
// whose text the form sends.

import { el } from "./dom.js";
import { imageUpload } from "./upload_beside.js";

/** Initial values of members for which the smallest allowed value would show nothing. */
const STARTS = {
  pose: { position: [0, 0.5, 4], lookAt: [0, 0, 0], fov: 40 },
  normal: [0, 0, 1],
  fov: 40,
  radius: 4,
  phi: 80,
  size: 0.5,
  imageAspect: 1,
};

/**
 * Members that name an image, and the kind of their images.
 * @type {Record<string, "decal" | "texture">}
 */
const IMAGES = { imageAssetId: "decal", mapAssetId: "texture" };

/**
 * The known original values of materials, by the name of the material. An edit of a material starts with these values.
 * @type {Map<string, Record<string, unknown>>}
 */
export const materialValues = new Map();

/**
 * Returns the first name of the form STEM-N that is not the `id` of an object in the list.
 * @param {{id?: string}[]} objects
 * @param {string} stem
 */
export function freeId(objects, stem) {
  const known = new Set(objects.map(({ id }) => id));
  let number = objects.length + 1;
  while (known.has(`${stem}-${number}`)) number += 1;
  return `${stem}-${number}`;
}

/**
 * A step from a value to a value inside of it: the name of a member, or the index and the `id` of an item.
 * @typedef {string | {at: number, id: unknown}} Step
 */

/**
 * Returns the index or the name of what a step leads to; null if it was removed. An item may have another index than before.
 * @param {any} value
 * @param {Step} step
 */
function find(value, step) {
  if (typeof step === "string") return Object.hasOwn(value ?? {}, step) ? step : null;
  const items = Array.isArray(value) ? value : [];
  // Items that others than this page have made may have equal identifiers.
  const at = items[step.at] !== undefined && items[step.at].id === step.id ? step.at : items.findIndex(({ id }) => id === step.id);
  return at < 0 ? null : at;
}

/**
 * Returns a copy of a value with another value at the end of a path. Returns null if a part of the path was removed.
 * @param {any} value
 * @param {Step[]} path
 * @param {unknown} replacement
 */
function replaced(value, [step, ...rest], replacement) {
  if (step === undefined) return replacement;
  const at = find(value, step);
  if (at === null) return null;
  const inner = replaced(value[at], rest, replacement);
  if (inner === null) return null;
  return Array.isArray(value) ? value.with(/** @type {number} */ (at), inner) : { ...value, [at]: inner };
}

/**
 * @param {{root: HTMLElement, key: string, refresh: () => void}} control
 * @param {HTMLTextAreaElement} area
 * @param {object} schema of the setting
 * @param {string[]} materials names of the model's materials, the keys of a map
 * @param {() => void} changed
 */
export function structure(control, area, schema, materials, changed) {
  const box = el("div", { className: "structure" });
  // The state of an upload is outside of the box, because changes during the upload may replace the content of the box.
  const states = el("div", { className: "upload-beside" });
  area.hidden = true;
  area.after(box);
  let current;
  let shown = null;
  let shape = null;
  /** Functions that show the values in the inputs. */
  let inputs = [];
  const show = () => {
    if (shown === area.value) return;
    shown = area.value;
    try {
      current = area.value.trim() === "" ? undefined : JSON.parse(area.value);
    } catch {
      // Text that is not JSON stays as it is, so that the user can correct it.
      current = undefined;
      shape = null;
      area.hidden = false;
      box.replaceChildren();
      return;
    }
    const next = shapeOf(current);
    // Inputs are kept if their members are the same, so that a click or the Tab key after an edit reaches its target.
    if (next !== shape) {
      shape = next;
      inputs = [];
      const context = { materials, form: control.root.closest("form"), title: control.key, inputs, path: () => [], replace, showStates };
      keepFocus(box, () => box.replaceChildren(...editor(schema, () => current, set, context)));
    }
    for (const input of inputs) input();
  };
  const set = (value) => {
    const isEmpty = value === undefined || Object.keys(value).length === 0;
    area.value = isEmpty ? "" : JSON.stringify(value);
    control.refresh();
    show();
    changed();
  };
  /** Sets the value at the end of a path. Returns false, and changes nothing, if a part of the path was removed. */
  const replace = (path, value) => {
    const next = replaced(current, path, value);
    if (next !== null) set(next);
    return next !== null;
  };
  /** Returns the element for the states of uploads. It is added to the page by the first call. */
  const showStates = () => {
    if (states.parentElement === null) box.after(states);
    return states;
  };
  control.root.addEventListener("refresh", show);
  show();
}

/** Returns a text that describes which members a value has. It does not contain the values of numbers, texts and flags. */
const shapeOf = (value) => (value === undefined ? "" : JSON.stringify(value, (_key, one) => (typeof one === "object" ? one : 0)));

/** Replaces the content of a box. The focus moves to the control with the same label as before, or else to the one at the same position. */
function keepFocus(box, change) {
  const controls = () => [...box.querySelectorAll("button, input, select, textarea")];
  const before = document.activeElement;
  const place = controls().indexOf(before);
  const name = before?.getAttribute("aria-label");
  change();
  if (place < 0) return;
  const now = controls();
  (now.find((one) => one.getAttribute("aria-label") === name) ?? now[Math.min(place, now.length - 1)])?.focus({ preventScroll: true });
}

/** Returns a control for a value of this schema. `get` returns the current value; `set(undefined)` removes it. */
function editor(schema, get, set, context) {
  if (schema.type === "array" && schema.items.type === "number") return [vector(schema, get, set, context)];
  if (schema.type === "array") return list(schema, get, set, context);
  if (schema.type === "object" && schema.properties) return [object(schema, get, set, context)];
  if (schema.type === "object") return map(schema, get, set, context);
  return [scalar(schema, get, set, context)];
}

function list(schema, get, set, context) {
  const items = () => get() ?? [];
  const pathOf = (at) => () => [...context.path(), { at, id: items()[at].id }];
  const rows = items().map((_item, i) => {
    const remove = () => set(items().toSpliced(i, 1));
    const setItem = (next) => set(items().with(i, next ?? blank(schema.items)));
    const name = `${i + 1}`;
    return el("fieldset", {}, el("legend", { textContent: name }),
      ...editor(schema.items, () => items()[i], setItem, { ...context, title: `${context.title} ${name}`, path: pathOf(i) }),
      el("button", { type: "button", textContent: "Remove", "aria-label": `Remove ${context.title} ${name}`, onclick: remove }));
  });
  /** Returns a new item. It gets an unused identifier if items have identifiers. */
  const fresh = (before) => {
    const item = blank(schema.items);
    return typeof item === "object" && "id" in item ? { ...item, id: freeId(before, context.title.replace(/s$/, "")) } : item;
  };
  if (items().length < schema.maxItems) {
    const more = () => {
      const next = [...items()];
      for (let missing = Math.max(1, schema.minItems - next.length); missing > 0; missing -= 1) next.push(fresh(next));
      set(next);
    };
    rows.push(el("button", { type: "button", textContent: "Add", "aria-label": `Add to ${context.title}`, onclick: more }));
  }
  return rows;
}

/** A choice with a button that applies it. Without the button, each arrow key would change the setting. */
function chooser(title, prompt, label, names, take) {
  const choose = el("select", { "aria-label": title }, el("option", { value: "", textContent: prompt }),
    ...names.map((name) => el("option", { value: name, textContent: name })));
  const button = el("button", { type: "button", textContent: label, "aria-label": `${label}: ${title}` });
  // The setting changes only when the button is pressed.
  choose.addEventListener("change", (event) => event.stopPropagation());
  button.addEventListener("click", () => {
    if (choose.value === "") choose.focus();
    else take(choose.value);
  });
  return el("div", { className: "chooser" }, choose, button);
}

/** Returns the controls for a map from the names of materials to objects or flags. */
function map(schema, get, set, context) {
  const entries = () => get() ?? {};
  const without = (name) => Object.fromEntries(Object.entries(entries()).filter(([key]) => key !== name));
  const rows = Object.keys(entries()).map((name) =>
    el("fieldset", {}, el("legend", { textContent: name }),
      ...editor(schema.additionalProperties, () => entries()[name], (next) => set(next === undefined ? without(name) : { ...entries(), [name]: next }),
        { ...context, title: name, material: name, path: () => [...context.path(), name] }),
      el("button", { type: "button", textContent: "Remove", "aria-label": `Remove ${name}`, onclick: () => set(without(name)) })));
  const left = context.materials.filter((name) => !Object.hasOwn(entries(), name));
  if (schema.additionalProperties.type !== "object") rows.push(flags(get, set, context));
  else if (left.length > 0) {
    rows.push(chooser(`Add to ${context.title}`, "Change a material…", "Change", left, (name) => set({ ...entries(), [name]: {} })));
  }
  return rows;
}

/**
 * Returns the names of the texture maps that a material has; all names if it is not known which.
 * @param {string} material
 * @returns {string[]}
 */
function mapsOf(material) {
  const known = [...document.querySelectorAll("#material-names option")].find((option) => option.value === material);
  const maps = known?.dataset.maps;
  if (maps !== undefined) return maps.split(" ").filter((name) => name !== "");
  return [...document.querySelectorAll("#map-names option")].map((option) => option.value);
}

/** Returns a checkbox for each texture map of a material. It is checked if the material uses the map. */
function flags(get, set, context) {
  const names = [...new Set([...mapsOf(context.material), ...Object.keys(get() ?? {})])];
  if (names.length === 0) return el("p", { className: "quiet", textContent: "The material has no texture maps." });
  const boxes = names.map((name) => {
    const box = el("input", { type: "checkbox", "aria-label": `${context.title} ${name}` });
    context.inputs.push(() => { box.checked = get()?.[name] !== false; });
    box.addEventListener("change", (event) => {
      event.stopPropagation();
      const others = Object.fromEntries(Object.entries(get() ?? {}).filter(([key]) => key !== name));
      set(box.checked ? others : { ...others, [name]: false });
    });
    return el("label", { className: "choice" }, box, ` ${name}`);
  });
  return el("div", { className: "names-list" }, ...boxes);
}

function object(schema, get, set, context) {
  const box = el("div", { className: "structure" });
  const needed = schema.required ?? [];
  if (get() === undefined) {
    box.append(el("button", { type: "button", textContent: "Set", "aria-label": `Set ${context.title}`, onclick: () => set(blank(schema)) }));
    return box;
  }
  const without = (key) => Object.fromEntries(Object.entries(get()).filter(([known]) => known !== key));
  const unset = [];
  for (const [key, of] of Object.entries(schema.properties)) {
    if (!(key in get()) && !needed.includes(key)) {
      unset.push(key);
      continue;
    }
    const setMember = (next) => set(next === undefined ? without(key) : { ...get(), [key]: next });
    const path = () => [...context.path(), key];
    const parts = editor(of, () => get()?.[key], setMember, { ...context, title: `${context.title} ${key}`, key, path });
    if (!needed.includes(key)) {
      parts.push(el("button", { type: "button", textContent: "Unset", "aria-label": `Unset ${context.title} ${key}`, onclick: () => setMember(undefined) }));
    }
    box.append(el("div", { className: "member" }, el("label", { textContent: key }), el("div", {}, ...parts)));
  }
  if (unset.length > 0) {
    box.append(chooser(`More of ${context.title}`, "Set more…", "Set", unset, (key) => {
      const known = materialValues.get(context.material)?.[key];
      set({ ...get(), [key]: known ?? blank(schema.properties[key], key) });
    }));
  }
  return box;
}

function vector(schema, get, set, context) {
  const numbers = () => get() ?? blank(schema);
  return el("div", { className: "vector" }, ...numbers().map((_number, i) => {
    const input = el("input", { type: "number", step: "any", "aria-label": `${context.title} ${"xyz"[i]}` });
    context.inputs.push(() => { input.value = String(numbers()[i]); });
    input.addEventListener("change", (event) => {
      event.stopPropagation();
      set(numbers().with(i, Number(input.value)));
    });
    return input;
  }));
}

function scalar(schema, get, set, context) {
  let input;
  let read = () => input.value;
  let show = () => { input.value = String(get() ?? ""); };
  if (schema.type === "boolean") {
    input = el("input", { type: "checkbox" });
    read = () => input.checked;
    show = () => { input.checked = get() === true; };
  } else if (schema.enum) {
    input = el("select", {}, ...schema.enum.map((name) => el("option", { value: name, textContent: name })));
  } else if (schema.type === "number") {
    input = el("input", { type: "number", step: "any" });
    for (const [side, bound] of [["min", schema.minimum], ["max", schema.maximum]]) if (bound !== undefined) input[side] = bound;
    read = () => Number(input.value);
    show = () => { input.value = String(get() ?? 0); };
  } else if (Object.hasOwn(IMAGES, context.key)) {
    return imageChoice(IMAGES[context.key], get, set, context);
  } else if (schema.pattern?.includes("#")) {
    input = el("input", { type: "color" });
    show = () => { input.value = get() ?? "#ffffff"; };
  } else {
    input = el("input", { maxLength: schema.maxLength ?? 256 });
  }
  context.inputs.push(show);
  input.setAttribute("aria-label", context.title);
  input.addEventListener("change", (event) => {
    event.stopPropagation();
    set(read());
  });
  return input;
}

/** Returns a control that chooses among the images of one kind, with a button that uploads another image. */
function imageChoice(kind, get, set, context) {
  const input = el("select", { "aria-label": context.title });
  const show = () => showImages(input, kind, get() ?? "");
  // The item may get another index during the upload, or be removed.
  const begin = () => {
    const path = context.path();
    return ({ id, name }) => {
      document.querySelector(`#${kind}-images`).prepend(el("option", { value: id, label: name }));
      return context.replace(path, id);
    };
  };
  context.inputs.push(show);
  // The list is updated on focus, because another control may have uploaded an image.
  input.addEventListener("focus", show);
  input.addEventListener("change", (event) => {
    event.stopPropagation();
    set(input.value);
  });
  return el("div", { className: "structure" }, input, imageUpload(context.form, kind, begin, context.showStates()));
}

/** Fills a `select` with the images of one kind. An image of another kind is added if it is the current value. */
function showImages(input, kind, value) {
  const option = (id, name) => el("option", { value: id, textContent: name, selected: id === value });
  const nameOf = (image) => image.label || image.value;
  const known = [...document.querySelectorAll(`#${kind}-images option`)];
  const rest = [];
  if (value !== "" && !known.some((image) => image.value === value)) {
    const other = [...document.querySelectorAll("#decal-images option, #texture-images option, #bgImageId option")].find((image) => image.value === value);
    rest.push(option(value, other ? `${nameOf(other)} (no ${kind})` : `${value} (not found)`));
  }
  input.replaceChildren(option("", "Choose an image…"), ...known.map((image) => option(image.value, nameOf(image))), ...rest);
}

/** Returns the initial value of a member: the value in `STARTS` for its name, or else the smallest value that the schema accepts. */
function blank(schema, key) {
  if (key in STARTS) return structuredClone(STARTS[key]);
  if (schema.enum) return schema.enum[0];
  if (schema.type === "boolean") return true;
  if (schema.type === "array") return Array.from({ length: schema.minItems ?? 0 }, () => blank(schema.items));
  if (schema.type === "object") return Object.fromEntries((schema.required ?? []).map((key) => [key, blank(schema.properties[key], key)]));
  if (schema.type === "string") return schema.pattern?.includes("#") ? "#ffffff" : "";
  if (schema.anyOf) return 1;
  return Math.min(schema.maximum ?? 1, Math.max(schema.minimum ?? 0, schema.exclusiveMinimum === 0 ? 1 : 0));
}
