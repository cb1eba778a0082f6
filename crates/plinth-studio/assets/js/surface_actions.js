// The actions in the menu of a surface that the user has selected.

import { placeOf } from "./decals.js";
import { materialValues } from "./structure.js";

/**
 * @param {import("./values.js").Values} values
 * @param {import("./free_view.js").FreeView} view
 * @param {(surface: object) => void} placeDecal
 * @returns {(surface: object) => {label: string, act: () => void, note?: string}[]}
 */
export function surfaceActions(values, view, placeDecal) {
  /** Shows the control of a setting, and moves the focus to the part of the control with this heading. */
  const edit = (key, heading) => {
    const root = values.reveal(key);
    const legend = [...root.querySelectorAll("legend")].find((one) => one.textContent === heading);
    const part = legend?.parentElement ?? root;
    part.scrollIntoView({ block: "center" });
    part.querySelector("select, input, button")?.focus({ preventScroll: true });
  };
  const look = (surface) => ({ label: "Look at this point", act: () => view.lookAt(surface.point) });

  const ofDecal = (surface) => {
    const decals = values.get("decals") ?? [];
    const at = placeOf(decals, surface);
    const remove = () => {
      if (at < 0) return;
      values.set("decals", decals.toSpliced(at, 1));
      values.commit();
    };
    return [{ label: "Edit this decal", act: () => edit("decals", String(at + 1)) }, { label: "Remove this decal", act: remove }, look(surface)];
  };

  const ofMesh = (surface) => {
    const hide = () => {
      values.set("hiddenMeshNames", [...(values.get("hiddenMeshNames") ?? []), surface.mesh]);
      values.commit();
    };
    const editMaterial = () => {
      const edits = values.get("materialEdits") ?? {};
      materialValues.set(surface.material, surface.values);
      if (!Object.hasOwn(edits, surface.material)) {
        values.set("materialEdits", { ...edits, [surface.material]: {} });
        values.commit();
      }
      edit("materialEdits", surface.material);
    };
    return [
      { label: "Hide this mesh", act: hide },
      ...(surface.material === null ? [] : [{ label: "Edit this material", act: editMaterial }]),
      {
        label: "Place a decal here",
        act: () => placeDecal(surface),
        note: surface.isBack ? "This is the back of the surface; a decal lies on its front." : undefined,
      },
      look(surface),
    ];
  };

  return (surface) => (surface.decal === null ? ofMesh(surface) : ofDecal(surface));
}
