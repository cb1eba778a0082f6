// Moves a decal over the model by dragging it.

import { placeOf, rounded, scaleOf } from "./decals.js";

/**
 * @param {import("./preview.js").Preview} preview
 * @param {import("./values.js").Values} values
 * @param {import("./surfaces.js").SurfaceMenu} menu
 * @returns {() => import("./steer.js").Held | null} called when the pointer is pressed; returns what a drag moves if the pointer is on a decal
 */
export function decalDrag(preview, values, menu) {
  return () => {
    const held = menu.pressed;
    if ((held?.decal ?? null) === null) return null;
    /** @type {[number, number] | null} */
    let wanted = null;
    let isAsking = false;
    let isDropped = false;

    /**
     * Moves the decal to a point of a surface, which the server returns for the current scale of the model. If the normal of the
     * surface and the scale stay the same, the decal keeps its rotation.
     */
    const put = ({ position, normal, euler }) => {
      const decals = values.get("decals") ?? [];
      const at = placeOf(decals, held);
      if (at < 0) return;
      const before = decals[at];
      const scale = scaleOf(values);
      const place = { position: rounded(position), normal: rounded(normal), euler: rounded(euler), placementScale: scale };
      const isFlat = String(before.normal) === String(place.normal);
      // Without a placement scale, the decal has the current scale.
      const isSameScale = String(before.placementScale ?? scale) === String(scale);
      values.set("decals", decals.with(at, { ...before, ...place, euler: isFlat && isSameScale ? before.euler : place.euler }));
      preview.changed();
    };
    const follow = async () => {
      if (isAsking) return;
      isAsking = true;
      while (wanted !== null) {
        const place = wanted;
        wanted = null;
        try {
          const [below] = (await preview.surfacesBelowDecals(...place)).surfaces;
          if (below) put(below);
        } catch {
          // Without an answer, the decal stays where it is until the next movement of the pointer.
        }
      }
      isAsking = false;
      if (isDropped) values.commit();
    };
    return {
      move(left, top) {
        wanted = menu.inPicture(left, top) ?? wanted;
        follow();
      },
      drop() {
        isDropped = true;
        follow();
      },
    };
  };
}
