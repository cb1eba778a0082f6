// Controls for settings that are lists or objects, made from their JSON Schema. They write JSON into the setting's text area,
// which is what is sent.

import { el } from "./dom.js";

/** What members of objects begin with where the smallest value that is allowed would show nothing. */
const STARTS = {
  pose: { position: [0, 0.5, 4], lookAt: [0, 0, 0], fov: 40 },
  normal: [0, 0, 1],
  fov: 40,
  radius: 4,
  phi: 80,
  size: 0.5,
  imageAspect: 1,
};

/** Members that name an image. */
const IMAGES = ["imageAssetId", "mapAssetId"];

/**
 * Values of materials without edits, by name, as far as they are known. An edit begins with them.
 * @type {Map<string, Record<string, unknown>>}
 */
export const materialValues = new Map();

/**
 * @param {{root: HTMLElement, refresh: () => void}} control
 * @param {HTMLTextAreaElement} area
 * @param {object} schema of the setting
 * @param {string[]} materials names of the model's materials, the keys of a map
 * @param {() => void} changed
 */
export function structure(control, area, schema, materials, changed) {
  const box = el("div", { className: "structure" });
  area.hidden = true;
  area.after(box);
  const write = (value) => {
    const isEmpty = value === undefined || Object.keys(value).length === 0;
    area.value = isEmpty ? "" : JSON.stringify(value);
    control.refresh();
    changed();
  };
  let shown = null;
  const show = () => {
    if (shown === area.value) return;
    shown = area.value;
    let value;
    try {
      value = area.value.trim() === "" ? undefined : JSON.parse(area.value);
    } catch {
      // What is not JSON is left for people to correct.
      area.hidden = false;
      box.replaceChildren();
      return;
    }
    const set = (next) => {
      write(next);
      show();
    };
    box.replaceChildren(...editor(schema, value, set, { materials, title: control.key }));
  };
  control.root.addEventListener("refresh", show);
  show();
}

/** Returns what edits a value of this schema. `set(undefined)` removes it. */
function editor(schema, value, set, context) {
  if (schema.type === "array" && schema.items.type === "number") return [vector(schema, value, set, context)];
  if (schema.type === "array") return list(schema, value ?? [], set, context);
  if (schema.type === "object" && schema.properties) return [object(schema, value, set, context)];
  if (schema.type === "object") return map(schema, value ?? {}, set, context);
  return [scalar(schema, value, set, context)];
}

function list(schema, items, set, context) {
  const rows = items.map((item, i) => {
    const setItem = (next) => set(next === undefined ? items.filter((_, k) => k !== i) : items.with(i, next));
    const name = `${i + 1}`;
    return el("fieldset", {}, el("legend", { textContent: name }),
      ...editor(schema.items, item, (next) => setItem(next ?? blank(schema.items)), { ...context, title: `${context.title} ${name}` }),
      el("button", { type: "button", textContent: "Remove", "aria-label": `Remove ${context.title} ${name}`, onclick: () => setItem(undefined) }));
  });
  if (items.length < schema.maxItems) {
    const missing = Math.max(1, schema.minItems - items.length);
    const more = () => set([...items, ...Array.from({ length: missing }, () => blank(schema.items))]);
    rows.push(el("button", { type: "button", textContent: "Add", "aria-label": `Add to ${context.title}`, onclick: more }));
  }
  return rows;
}

/** Objects by the name of a material, each with its members that are set. */
function map(schema, entries, set, context) {
  const without = (name) => Object.fromEntries(Object.entries(entries).filter(([key]) => key !== name));
  const rows = Object.entries(entries).map(([name, value]) =>
    el("fieldset", {}, el("legend", { textContent: name }),
      ...editor(schema.additionalProperties, value, (next) => set(next === undefined ? without(name) : { ...entries, [name]: next }), { ...context, title: name, material: name }),
      el("button", { type: "button", textContent: "Remove", "aria-label": `Remove ${name}`, onclick: () => set(without(name)) })));
  const left = context.materials.filter((name) => !Object.hasOwn(entries, name));
  if (left.length > 0 && schema.additionalProperties.type === "object") {
    const choose = el("select", { "aria-label": `Add to ${context.title}` }, el("option", { value: "", textContent: "Change a material…" }),
      ...left.map((name) => el("option", { value: name, textContent: name })));
    choose.addEventListener("change", (event) => {
      event.stopPropagation();
      set({ ...entries, [choose.value]: {} });
    });
    rows.push(choose);
  } else if (schema.additionalProperties.type !== "object") {
    rows.push(scalarMap(schema, entries, set, context));
  }
  return rows;
}

/** A map of flags by any name, such as of textures: `name=true`, one a line. */
function scalarMap(schema, entries, set, context) {
  const area = el("textarea", { rows: 2, value: Object.entries(entries).map(([key, value]) => `${key}=${value}`).join("\n"),
    placeholder: "map=false", "aria-label": context.title });
  area.addEventListener("change", (event) => {
    event.stopPropagation();
    const lines = area.value.split("\n").map((line) => line.split("=")).filter(([key]) => key.trim() !== "");
    set(lines.length === 0 ? undefined : Object.fromEntries(lines.map(([key, flag]) => [key.trim(), (flag ?? "").trim() !== "false"])));
  });
  return area;
}

function object(schema, value, set, context) {
  const box = el("div", { className: "structure" });
  const needed = schema.required ?? [];
  if (value === undefined) {
    box.append(el("button", { type: "button", textContent: "Set", "aria-label": `Set ${context.title}`, onclick: () => set(blank(schema)) }));
    return box;
  }
  const without = (key) => Object.fromEntries(Object.entries(value).filter(([known]) => known !== key));
  const unset = [];
  for (const [key, of] of Object.entries(schema.properties)) {
    if (!(key in value) && !needed.includes(key)) {
      unset.push(key);
      continue;
    }
    const setMember = (next) => set(next === undefined ? without(key) : { ...value, [key]: next });
    const parts = editor(of, value[key], setMember, { ...context, title: `${context.title} ${key}`, key });
    if (!needed.includes(key)) {
      parts.push(el("button", { type: "button", textContent: "Unset", "aria-label": `Unset ${context.title} ${key}`, onclick: () => setMember(undefined) }));
    }
    box.append(el("div", { className: "member" }, el("label", { textContent: key }), el("div", {}, ...parts)));
  }
  if (unset.length > 0) {
    const choose = el("select", { "aria-label": `Set more of ${context.title}` }, el("option", { value: "", textContent: "Set more…" }),
      ...unset.map((key) => el("option", { value: key, textContent: key })));
    choose.addEventListener("change", (event) => {
      event.stopPropagation();
      const known = materialValues.get(context.material)?.[choose.value];
      set({ ...value, [choose.value]: known ?? blank(schema.properties[choose.value], choose.value) });
    });
    box.append(choose);
  }
  return box;
}

function vector(schema, value, set, context) {
  const numbers = value ?? blank(schema);
  return el("div", { className: "vector" }, ...numbers.map((number, i) => {
    const input = el("input", { type: "number", step: "any", value: number, "aria-label": `${context.title} ${"xyz"[i]}` });
    input.addEventListener("change", (event) => {
      event.stopPropagation();
      set(numbers.with(i, Number(input.value)));
    });
    return input;
  }));
}

function scalar(schema, value, set, context) {
  let input;
  let read = () => input.value;
  if (schema.type === "boolean") {
    input = el("input", { type: "checkbox", checked: value === true });
    read = () => input.checked;
  } else if (schema.enum) {
    input = el("select", {}, ...schema.enum.map((name) => el("option", { value: name, textContent: name, selected: name === value })));
  } else if (schema.type === "number") {
    input = el("input", { type: "number", step: "any", value: value ?? 0 });
    for (const [side, bound] of [["min", schema.minimum], ["max", schema.maximum]]) if (bound !== undefined) input[side] = bound;
    read = () => Number(input.value);
  } else if (IMAGES.includes(context.key)) {
    input = imageChoice(value ?? "");
  } else if (schema.pattern?.includes("#")) {
    input = el("input", { type: "color", value: value ?? "#ffffff" });
  } else {
    input = el("input", { value: value ?? "", maxLength: schema.maxLength ?? 256 });
  }
  input.setAttribute("aria-label", context.title);
  input.addEventListener("change", (event) => {
    event.stopPropagation();
    set(read());
  });
  return input;
}

/** Returns a choice among the images of the workspace. */
function imageChoice(value) {
  const option = (id, name) => el("option", { value: id, textContent: name, selected: id === value });
  const known = [...document.querySelectorAll("#images option")];
  const isKnown = value === "" || known.some((image) => image.value === value);
  return el("select", {}, option("", "Choose an image…"), ...known.map((image) => option(image.value, image.label || image.value)),
    isKnown ? null : option(value, `${value} (not found)`));
}

/** A value to begin with: the one of its name, else the smallest that the schema accepts. */
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
