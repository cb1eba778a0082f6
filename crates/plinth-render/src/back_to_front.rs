//! The order in which transmissive and blended batches are drawn.

use plinth_scene::{MAX_DECAL_GAP, PosedPrimitive, Scene, SurfaceId};

use crate::upload::batch::Batch;
use crate::upload::boxes::Bounds;
use crate::upload::pool::Model;

/// A transmissive or blended batch, seen from a camera.
pub(crate) struct TransparentBatch<'a> {
    /// Index of the batch.
    pub(crate) index: usize,
    /// Mean depth along the axis of the camera.
    pub(crate) depth: f32,
    pub(crate) bounds: Bounds,
    /// `None` if the batch is not a decal.
    pub(crate) decal: Option<SeenDecal<'a>>,
}

/// The surface of a decal, and the side from which the decal is seen.
#[derive(Clone, Copy)]
pub(crate) struct SeenDecal<'a> {
    /// The transmissive and blended batches of the surface on which the decal lies.
    pub(crate) surface: &'a [usize],
    pub(crate) faces_camera: bool,
}

/// Returns for each batch that is a decal the transmissive and blended batches of the surface on which it lies. The
/// list of a decal on an opaque surface is empty. Returns `None` for all other batches.
pub(crate) fn surfaces_of_decals(scene: &Scene, posed: &[PosedPrimitive], model: Model<'_>) -> Vec<Option<Vec<usize>>> {
    let primitive_of = |batch: &Batch| {
        batch.transparency.as_ref()?;
        // The pool of a transmissive or blended batch contains only one primitive.
        let primitive = posed.get(model.pools[batch.pool].first_primitive()?)?;
        Some(primitive.surface())
    };
    let primitives: Vec<Option<SurfaceId>> = model.batches.iter().map(primitive_of).collect();
    let surface_of = |decal: SurfaceId| {
        let surface = scene.decal_surfaces.get(&decal.node)?;
        Some((0..primitives.len()).filter(|i| primitives[*i] == Some(*surface)).collect::<Vec<usize>>())
    };
    primitives.iter().map(|primitive| primitive.and_then(surface_of)).collect()
}

/// Returns the indices of transmissive and blended batches in the order in which they are drawn: from back to front.
///
/// A decal is drawn directly after the surface on which it lies or, if its back is seen through this surface, directly
/// before it. Its mean depth differs from that of the surface, because it covers only a part of the surface. Decals
/// that lie on each other keep the order of their batches.
pub(crate) fn back_to_front(mut batches: Vec<TransparentBatch<'_>>) -> Vec<usize> {
    batches.sort_by(|a, b| b.depth.total_cmp(&a.depth).then(a.index.cmp(&b.index)));
    let mut order: Vec<usize> = batches.iter().map(|batch| batch.index).collect();
    let mut decals: Vec<(usize, Bounds, SeenDecal<'_>)> =
        batches.iter().filter_map(|batch| Some((batch.index, batch.bounds, batch.decal?))).collect();
    decals.sort_by_key(|(index, ..)| *index);
    for (count, (index, bounds, decal)) in decals.iter().enumerate() {
        let Some(own) = order.iter().position(|i| i == index) else { continue };
        order.remove(own);
        let lies_on_decal = |i: &usize| {
            let earlier = decals[..count].binary_search_by_key(i, |(index, ..)| *index);
            earlier.is_ok_and(|earlier| {
                let (_index, below, other) = &decals[earlier];
                other.surface == decal.surface && touch(*below, *bounds)
            })
        };
        let is_below = |i: &usize| decal.surface.contains(i) || lies_on_decal(i);
        let place = match (order.iter().position(is_below), order.iter().rposition(is_below)) {
            (Some(first), _) if !decal.surface.is_empty() && !decal.faces_camera => first,
            (_, Some(last)) if !decal.surface.is_empty() => last + 1,
            (_, Some(last)) => own.max(last + 1),
            _ => own,
        };
        order.insert(place, *index);
    }
    order
}

/// Returns whether two decals can lie on each other. There is a gap between such decals, because they have different
/// distances from their surface.
fn touch((a_min, a_max): Bounds, (b_min, b_max): Bounds) -> bool {
    a_min.cmple(b_max + MAX_DECAL_GAP).all() && b_min.cmple(a_max + MAX_DECAL_GAP).all()
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;

    fn panel(index: usize, depth: f32) -> TransparentBatch<'static> {
        TransparentBatch { index, depth, bounds: (Vec3::splat(-1.0), Vec3::splat(1.0)), decal: None }
    }

    fn decal(index: usize, depth: f32, surface: &[usize], faces_camera: bool) -> TransparentBatch<'_> {
        TransparentBatch { decal: Some(SeenDecal { surface, faces_camera }), ..panel(index, depth) }
    }

    #[test]
    fn a_decal_is_drawn_directly_after_its_surface() {
        for depth in [1.0, 4.0, 9.0] {
            let batches = vec![panel(0, 5.0), panel(1, 3.0), panel(2, 7.0), decal(3, depth, &[0], true)];
            assert_eq!(back_to_front(batches), [2, 0, 3, 1], "{depth}");
        }
        // The surface is split into two batches.
        let batches = vec![panel(0, 5.0), panel(1, 3.0), decal(2, 9.0, &[0, 1], true)];
        assert_eq!(back_to_front(batches), [0, 1, 2]);
    }

    #[test]
    fn a_decal_whose_back_is_seen_is_drawn_before_its_surface() {
        for depth in [1.0, 9.0] {
            let batches = vec![panel(0, 5.0), panel(1, 7.0), decal(2, depth, &[0], false), decal(3, 5.0, &[0], false)];
            assert_eq!(back_to_front(batches), [1, 3, 2, 0], "{depth}");
        }
    }

    #[test]
    fn decals_that_lie_on_each_other_keep_their_order() {
        let batches = vec![panel(0, 5.0), decal(1, 4.0, &[0], true), decal(2, 6.0, &[0], true)];
        assert_eq!(back_to_front(batches), [0, 1, 2]);
        // A wall that is parallel to an axis: the boxes around its decals are flat.
        let flat = |index, depth, z: f32| TransparentBatch {
            bounds: (Vec3::new(-1.0, -1.0, z), Vec3::new(1.0, 1.0, z)),
            ..decal(index, depth, &[], true)
        };
        assert_eq!(back_to_front(vec![flat(0, 4.0, 0.01), flat(1, 6.0, 0.011), panel(2, 5.0)]), [2, 0, 1]);
        // A pane behind another one, each with a decal. The decals nearly touch.
        let pane = |index, depth, z: f32, surface| TransparentBatch {
            bounds: (Vec3::new(-1.0, -1.0, z), Vec3::new(1.0, 1.0, z)),
            ..decal(index, depth, surface, true)
        };
        let batches = vec![panel(0, 5.0), panel(1, 4.0), pane(2, 3.99, 0.01, &[1]), pane(3, 4.99, 0.0, &[0])];
        assert_eq!(back_to_front(batches), [0, 3, 1, 2]);
        // Decals on different parts of an opaque model are sorted by depth.
        assert_eq!(back_to_front(vec![flat(0, 4.0, 0.5), flat(1, 6.0, -0.5), panel(2, 5.0)]), [1, 2, 0]);
    }
}
