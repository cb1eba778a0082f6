//! Decals are images that are projected onto the model. Each decal becomes new geometry just above a surface of the
//! model, and moves with this surface.
//!
//! The projection is the same as in three.js' `DecalGeometry`: the triangles of the surface are clipped to a box in the
//! decal's space, and the x and y coordinates in this space become texture coordinates. The new geometry keeps the
//! material, the normals, the skin and the morph targets of the surface on which it lies.

use std::collections::BTreeMap;
use std::sync::Arc;

use glam::{DMat3, DMat4, DQuat, DVec3, EulerRot, Vec2, Vec3};
use plinth_model::{
    AlphaMode, Channel, Image, Mesh, Model, MorphTarget, Node, Primitive, Property, Sampler, Texture, TextureRef,
    Topology, Transform, Wrap,
};
use plinth_spec::limits;
use plinth_spec::settings::{Decal, RenderSettings};

use crate::assets::SceneAssets;
use crate::build::Frames;
use crate::error::SceneError;
use crate::pixel::{SURFACE_ERROR_PIXELS, smallest_pixel};
use crate::place::Placement;
use crate::pose::Placed;
use crate::shot::{PosedPrimitive, Shot, SurfaceId};
use crate::texture_maps::keep_first_set;
use crate::{bleed, clip_polygon};

/// Distance in pixels between a decal and its surface. It is larger than the distance by which the renderer may
/// displace the surface when it simplifies triangles.
const LIFT_PIXELS: f32 = SURFACE_ERROR_PIXELS + 0.2;
/// Minimum distance between a decal and its surface in world units.
const MIN_LIFT: f32 = 5e-4;
/// Maximum distance between the first decal and its surface in world units.
const MAX_LIFT: f32 = 0.02;
/// Each decal lies higher above the surface than the previous decal, by this fraction of the first decal's distance.
/// Otherwise overlapping decals would flicker.
const STEP: f32 = 0.1;
/// Maximum distance between two decals on the same plane in world units.
pub const MAX_DECAL_GAP: f32 = MAX_LIFT * STEP * limits::DECALS as f32;

/// The placed model onto which decals are projected, and the shots in which it is seen.
pub(crate) struct Target<'a> {
    pub(crate) placement: &'a Placement,
    pub(crate) hidden: &'a [bool],
    pub(crate) shots: &'a [Shot],
    /// Index of the clip that is played.
    pub(crate) clip: Option<usize>,
    pub(crate) frames: Frames,
}

impl Target<'_> {
    /// Returns the distance between a decal and its surface in world units.
    fn lift(&self) -> f32 {
        (smallest_pixel(self.placement.bounds(), self.shots, self.frames.height) * LIFT_PIXELS)
            .clamp(MIN_LIFT, MAX_LIFT)
    }
}

/// A decal with its projection and its texture.
struct Stamp<'a> {
    decal: &'a Decal,
    /// Transform from world space to decal space. In decal space, x points to the right of the image, y points up, and
    /// z points away from the surface.
    decal_from_world: DMat4,
    /// Half the width, height and depth of the decal's box.
    half: Vec3,
    /// Normal of the surface in decal space: a unit vector, or the zero vector if the decal's setting `normal` is zero.
    normal: Vec3,
    /// Distance between the decal and its surface in world units.
    lift: f32,
    texture: usize,
    opaque: bool,
}

/// Adds the nodes, meshes, materials and textures of all decals to the model. Returns the surface on which each decal
/// lies, by the node of the decal.
/// Errors: if an image is missing or cannot be read.
pub(crate) fn add_decals(
    model: &mut Model,
    settings: &RenderSettings,
    target: &Target<'_>,
    assets: &SceneAssets<'_>,
    warnings: &mut Vec<String>,
) -> Result<BTreeMap<usize, SurfaceId>, SceneError> {
    let placed = Placed { model, hidden: target.hidden, world_from_model: target.placement.world_from_model };
    let first_time = target.shots.first().and_then(|shot| shot.clip_time);
    let clip = target.clip.and_then(|c| model.animations.get(c)).zip(first_time);
    let surfaces: Vec<Surface> =
        placed.pose(clip, |_draw| true).into_iter().zip(placed.linear_parts(clip)).map(Surface::new).collect();
    let lift = target.lift();
    let scale = DVec3::from(settings.model().scale());
    let mut textures: BTreeMap<&str, (usize, Image)> = BTreeMap::new();
    let mut below = BTreeMap::new();
    for (i, decal) in settings.decals().iter().enumerate() {
        if !textures.contains_key(decal.image.as_str()) {
            let image = bleed::filled(assets.image(&decal.image, target.frames.max_texture_side)?);
            textures.insert(&decal.image, (add_texture(model, image.clone()), image));
        }
        let (texture, image) = &textures[decal.image.as_str()];
        let mut stamp = stamp(decal, target.placement, scale, image);
        (stamp.texture, stamp.lift) = (*texture, lift * (1.0 + STEP * i as f32));
        let mut patches = patches(model, &surfaces, &stamp, true);
        if patches.is_empty() {
            // The box contains no front face. The model may have a wrong winding order, so the decal is projected onto
            // back faces, too.
            patches = self::patches(model, &surfaces, &stamp, false);
        }
        if patches.is_empty() {
            warnings.push(format!("decals[{i}] '{}': the decal does not touch the model", decal.id));
        }
        for (under, primitive) in patches {
            let posed = &surfaces[under].posed;
            below.insert(add(model, posed, primitive, &stamp), posed.surface());
        }
    }
    Ok(below)
}

fn add_texture(model: &mut Model, image: Image) -> usize {
    model.images.push(Arc::new(image));
    let sampler = Sampler { wrap_u: Wrap::Clamp, wrap_v: Wrap::Clamp, ..Sampler::default() };
    model.textures.push(Texture { image: model.images.len() - 1, sampler });
    model.textures.len() - 1
}

fn stamp<'a>(decal: &'a Decal, placement: &Placement, scale: DVec3, image: &Image) -> Stamp<'a> {
    // If a decal has a placement scale, it is projected onto the model at this scale. Then it is stretched together
    // with the model to the scale of the settings.
    let scale = decal.placement_scale.map_or(scale, DVec3::from);
    let upright_from_world = placement.upright_from_model(scale) * placement.world_from_model.inverse();
    let [x, y, z] = decal.euler;
    let turn = DQuat::from_euler(EulerRot::XYZ, x, y, z);
    let upright_from_decal = DMat4::from_rotation_translation(turn, DVec3::from(decal.position));
    let aspect = decal.aspect.unwrap_or_else(|| f64::from(image.width) / f64::from(image.height.max(1)));
    let (width, height) = if aspect >= 1.0 { (1.0, aspect.recip()) } else { (aspect, 1.0) };
    let normal = turn.inverse() * DVec3::from(decal.normal).normalize_or_zero();
    Stamp {
        decal,
        decal_from_world: upright_from_decal.inverse() * upright_from_world,
        half: (DVec3::new(width, height, 1.0) * (decal.size * 0.5)).as_vec3(),
        normal: normal.as_vec3(),
        lift: 0.0,
        texture: 0,
        opaque: image.pixels.as_chunks::<4>().0.iter().all(|texel| texel[3] == 255),
    }
}

/// A posed primitive onto which decals are projected.
struct Surface {
    posed: PosedPrimitive,
    /// Linear part of the transform from world space to the space of the primitive. `None` if the vertices have no
    /// common transform, because they have a skin, or if the transform has no inverse.
    object_from_world: Option<DMat3>,
}

impl Surface {
    fn new((posed, world_from_object): (PosedPrimitive, Option<DMat3>)) -> Self {
        let inverse = world_from_object.map(|linear| linear.inverse());
        Self { posed, object_from_world: inverse.filter(DMat3::is_finite) }
    }
}

/// Returns the geometry of a decal on each surface that intersects the decal's box.
fn patches(model: &Model, surfaces: &[Surface], stamp: &Stamp<'_>, facing_only: bool) -> Vec<(usize, Primitive)> {
    use rayon::prelude::*;
    surfaces
        .par_iter()
        .enumerate()
        .filter_map(|(i, surface)| {
            let mesh = model.nodes[surface.posed.node].mesh?;
            let primitive = &model.meshes[mesh].primitives[surface.posed.primitive];
            if primitive.topology != Topology::Triangles {
                return None;
            }
            let patch = Patch::new(primitive, surface, stamp).cut(facing_only);
            (!patch.indices.is_empty()).then_some((i, patch))
        })
        .collect()
}

/// Collects the geometry of a decal on one primitive.
struct Patch<'a> {
    under: &'a Primitive,
    surface: &'a Surface,
    stamp: &'a Stamp<'a>,
    /// Positions of all vertices of the primitive in decal space.
    places: Vec<Vec3>,
    /// Whether front faces are clockwise in decal space.
    mirrored: bool,
    /// New index of each vertex that was copied unchanged, by its index in the original primitive.
    kept: BTreeMap<u32, u32>,
    out: Primitive,
}

impl<'a> Patch<'a> {
    fn new(under: &'a Primitive, surface: &'a Surface, stamp: &'a Stamp<'a>) -> Self {
        let posed = &surface.posed;
        let place = |p: &Vec3| stamp.decal_from_world.transform_point3(p.as_dvec3()).as_vec3();
        let out = Primitive {
            topology: Topology::Triangles,
            material: under.material,
            is_flat: under.is_flat,
            uvs: vec![Vec::new(); 2],
            morph_targets: vec![MorphTarget::default(); under.morph_targets.len()],
            ..Primitive::default()
        };
        Self {
            under,
            surface,
            stamp,
            places: posed.positions.iter().map(place).collect(),
            mirrored: posed.mirrored != (stamp.decal_from_world.determinant() < 0.0),
            kept: BTreeMap::new(),
            out,
        }
    }

    /// Clips all triangles of the primitive to the decal's box.
    fn cut(mut self, facing_only: bool) -> Primitive {
        let half = self.stamp.half;
        for triangle in self.under.indices.as_chunks::<3>().0 {
            let corners = triangle.map(|v| self.places[v as usize]);
            let (low, high) = (corners[0].min(corners[1]).min(corners[2]), corners[0].max(corners[1]).max(corners[2]));
            if low.cmpgt(half).any() || high.cmplt(-half).any() || !low.is_finite() || !high.is_finite() {
                continue;
            }
            let outward = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
            let outward = if self.mirrored { -outward } else { outward };
            if facing_only && outward.dot(self.stamp.normal) < 0.0 {
                continue;
            }
            let polygon = clip_polygon::inside_box(corners, half);
            let ids: Vec<u32> = polygon.iter().map(|weights| self.vertex(triangle, *weights, corners)).collect();
            for pair in ids.windows(2).skip(1) {
                self.out.indices.extend([ids[0], pair[0], pair[1]]);
            }
        }
        self.out
    }

    /// Adds a vertex at a point inside a triangle, and returns the new vertex's index.
    fn vertex(&mut self, triangle: &[u32; 3], weights: [f32; 3], corners: [Vec3; 3]) -> u32 {
        let whole = weights.iter().position(|w| *w >= 1.0).map(|k| triangle[k]);
        if let Some(known) = whole.and_then(|v| self.kept.get(&v)) {
            return *known;
        }
        let id = self.out.positions.len() as u32;
        self.kept.extend(whole.map(|v| (v, id)));
        let mixed = Mixed { triangle, weights };
        let under = self.under;
        let position = mixed.vec3(&under.positions).unwrap_or_default();
        let normal = mixed.vec3(&under.normals).unwrap_or(Vec3::Y).normalize_or(Vec3::Y);
        self.out.positions.push((position + self.displacement(triangle, normal)).to_array());
        self.out.normals.push(normal.to_array());
        if let Some(tangent) = mixed.vec3_of(&under.tangents, |t| Vec3::new(t[0], t[1], t[2])) {
            let hand = under.tangents[triangle[0] as usize][3];
            self.out.tangents.push(tangent.normalize_or(Vec3::X).extend(hand).to_array());
        }
        let uv = under.uvs.first().and_then(|set| mixed.vec2(set)).unwrap_or_default();
        self.out.uvs[0].push(uv.to_array());
        let place: Vec3 = corners.iter().zip(weights).map(|(p, w)| *p * w).sum();
        let on_image = (place / self.stamp.half).truncate() * 0.5;
        self.out.uvs[1].push([0.5 + on_image.x, 0.5 - on_image.y]);
        if !under.joints.is_empty() {
            let (joints, shares) = mixed.influences(under);
            self.out.joints.push(joints);
            self.out.weights.push(shares);
        }
        for (to, from) in self.out.morph_targets.iter_mut().zip(&under.morph_targets) {
            to.positions.extend(mixed.vec3(&from.positions).map(|v| v.to_array()));
            to.normals.extend(mixed.vec3(&from.normals).map(|v| v.to_array()));
            to.tangents.extend(mixed.vec3(&from.tangents).map(|v| v.to_array()));
        }
        id
    }

    /// Returns the displacement, in the space of the primitive, that moves a point of a triangle from the surface to
    /// the decal. `normal` is the normal at the point in the same space.
    fn displacement(&self, triangle: &[u32; 3], normal: Vec3) -> Vec3 {
        let lift = self.stamp.lift;
        let Some(object_from_world) = self.surface.object_from_world else {
            return normal * (lift * self.length_ratio(triangle));
        };
        // A node that stretches the primitive changes the direction of normals in another way than that of other
        // vectors. The decal must be displaced along the normal in world space.
        let normal_in_world = (object_from_world.transpose() * normal.as_dvec3()).normalize_or_zero();
        (object_from_world * (normal_in_world * f64::from(lift))).as_vec3()
    }

    /// Returns how many units of the primitive's space correspond to one world unit at a triangle.
    fn length_ratio(&self, triangle: &[u32; 3]) -> f32 {
        let [a, b, c] = triangle.map(|v| v as usize);
        let around = |p: &dyn Fn(usize) -> Vec3| p(a).distance(p(b)) + p(b).distance(p(c)) + p(c).distance(p(a));
        let world = around(&|v| self.surface.posed.positions[v]);
        if world > 0.0 { around(&|v| Vec3::from(self.under.positions[v])) / world } else { 1.0 }
    }
}

/// A point inside a triangle, given by the barycentric weights of the triangle's corners.
struct Mixed<'a> {
    triangle: &'a [u32; 3],
    weights: [f32; 3],
}

impl Mixed<'_> {
    /// Interpolates a vertex attribute at the point. Returns `None` if the primitive does not have the attribute.
    fn vec3_of<T>(&self, list: &[T], value: impl Fn(&T) -> Vec3) -> Option<Vec3> {
        let corner = |(v, weight): (&u32, f32)| list.get(*v as usize).map(|entry| value(entry) * weight);
        self.triangle.iter().zip(self.weights).map(corner).sum()
    }

    fn vec3(&self, list: &[[f32; 3]]) -> Option<Vec3> {
        self.vec3_of(list, |v| Vec3::from(*v))
    }

    fn vec2(&self, list: &[[f32; 2]]) -> Option<Vec2> {
        self.vec3_of(list, |v| Vec2::from(*v).extend(0.0)).map(Vec3::truncate)
    }

    /// Returns the joints and their weights at the point: the four joints with the largest interpolated weights.
    fn influences(&self, under: &Primitive) -> ([u16; 4], [f32; 4]) {
        let mut sums: BTreeMap<u16, f32> = BTreeMap::new();
        for (v, weight) in self.triangle.iter().zip(self.weights) {
            for (joint, share) in under.joints[*v as usize].iter().zip(under.weights[*v as usize]) {
                *sums.entry(*joint).or_default() += share * weight;
            }
        }
        let mut strongest: Vec<(u16, f32)> = sums.into_iter().filter(|(_, share)| *share > 0.0).collect();
        strongest.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        strongest.truncate(4);
        let total: f32 = strongest.iter().map(|(_, share)| share).sum();
        let (mut joints, mut shares) = ([0; 4], [0.0; 4]);
        for (k, (joint, share)) in strongest.into_iter().enumerate() {
            joints[k] = joint;
            shares[k] = share / total.max(f32::MIN_POSITIVE);
        }
        (joints, shares)
    }
}

/// Adds the geometry of a decal as a child of the node to which the surface belongs, so that the decal moves with the
/// surface and is hidden with it. Returns the index of the added node.
fn add(model: &mut Model, under: &PosedPrimitive, mut primitive: Primitive, stamp: &Stamp<'_>) -> usize {
    let carrier = model.nodes[under.node].clone();
    let mut material = model.materials[primitive.material].clone();
    keep_first_set(&mut material);
    let image = TextureRef { texture: stamp.texture, uv_set: 1, transform: None };
    (material.base_color, material.base_color_texture) = ([1.0; 4], Some(image));
    (material.emissive, material.emissive_texture) = ([0.0; 3], None);
    (material.transmission, material.volume, material.diffuse_transmission) = (None, None, None);
    material.alpha_mode = if stamp.opaque { AlphaMode::Opaque } else { AlphaMode::Blend };
    material.overlay = true;
    material.name.clone_from(&stamp.decal.id);
    primitive.material = model.materials.len();
    model.materials.push(material);
    model.meshes.push(Mesh { name: stamp.decal.id.clone(), primitives: vec![primitive] });
    let node = model.nodes.len();
    model.nodes.push(Node {
        parent: Some(under.node),
        local: Transform::default(),
        mesh: Some(model.meshes.len() - 1),
        light: None,
        instances: carrier.instances.get(under.instance).copied().into_iter().collect(),
        ..carrier
    });
    for animation in &mut model.animations {
        let follows = |c: &&Channel| c.node == under.node && c.property == Property::Weights;
        let copies: Vec<Channel> =
            animation.channels.iter().filter(follows).map(|c| Channel { node, ..c.clone() }).collect();
        animation.channels.extend(copies);
    }
    node
}
