//! Determines the finest mip level of each image that the frames of a scene can read, and the parts of this level that
//! they can read, so that the rest need not be uploaded.
//!
//! The mip level at a pixel depends on how many texels apart the texture coordinates of neighbouring pixels are. On a
//! triangle, this number is smallest where the triangle is nearest to a camera and faces it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use glam::{Vec2, Vec3};
use plinth_model::{AlphaMode, Primitive, TextureSlot, Topology, Wrap};
use plinth_scene::{PosedPrimitive, Scene, rounded_length, smallest_step};
use rayon::prelude::*;

use super::geometry::primitive_of;
use super::material::{texture_of, used_slots};
use super::read_tiles::ReadTiles;
use super::texel_density::{Density, LEVELS, Reading};
use crate::gpu::Gpu;
use crate::prepare::PrepareInputs;

/// Minimum number of texels of an image whose levels are examined, and of a level of which only parts are uploaded.
/// Uploading a smaller one takes little time.
const MIN_TEXELS: u64 = 1 << 18;
/// Maximum fraction of a level that is uploaded as parts. A greater one is uploaded as a whole.
const MAX_SHARE_OF_PARTS: f64 = 0.75;
/// Fraction of the surface of a primitive that may need finer levels than those that are uploaded. Otherwise a single
/// triangle whose texture coordinates do not vary would keep all levels. In a picture that the primitive fills, this
/// fraction is a few dozen pixels.
const NEGLIGIBLE_SHARE: f64 = 1e-4;
/// Maximum height of a triangle that counts as a line, as a fraction of its longest side.
const LINE: f32 = 1e-6;
/// Number of triangles that are processed together. It is fixed, so that the sums do not depend on the number of cores.
const TRIANGLES_PER_TASK: usize = 1 << 14;

/// The finest mip level of an image that is uploaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FirstLevel {
    pub(super) number: u32,
    /// The parts of the level that are uploaded. `None` is the whole level.
    pub(super) parts: Option<Arc<ReadTiles>>,
}

impl FirstLevel {
    /// Returns whether all levels of the image are uploaded as a whole.
    pub(super) const fn is_all(&self) -> bool {
        self.number == 0 && self.parts.is_none()
    }

    /// Returns whether a texture with this first level can be read in place of one with the first level `other`. Triangles
    /// that take a negligible part of a surface may read a finer level if there is one, so it must be a whole level.
    pub(super) fn contains(&self, other: &Self) -> bool {
        match (&self.parts, &other.parts) {
            (None, _) => self.number <= other.number,
            (Some(_), None) => false,
            (Some(these), Some(others)) => self.number == other.number && these.contains(others),
        }
    }
}

/// Returns the first level of each image of which a frame cannot read all. `indices` are those with which each posed
/// primitive is drawn, and `size` is the width and the height of the frames. The frames must be drawn from cameras of the
/// scene, unless `inputs.any_camera` is true.
pub(crate) fn first_levels(
    gpu: &Gpu,
    inputs: &PrepareInputs<'_>,
    indices: &[Vec<u32>],
    size: (u32, u32),
) -> BTreeMap<usize, FirstLevel> {
    let PrepareInputs { scene, posed, any_camera, .. } = *inputs;
    // The views of a dataset may be drawn by several processes, each of which knows only its own views.
    if any_camera || scene.is_dataset || scene.shots.is_empty() || gpu.keeps_levels {
        return BTreeMap::new();
    }
    let reading = Reading { step: rounded_length(step(scene, size)), is_anisotropic: !gpu.is_software() };
    let drawn: Vec<Drawn<'_>> = posed
        .par_iter()
        .zip(indices)
        .zip(scene.reshaped(posed))
        .filter_map(|((one, indices), is_reshaped)| Drawn::new(scene, one, indices, is_reshaped))
        .collect();
    let numbers = numbers(scene, &drawn, reading);
    let parts_suffice = gpu.is_software() && reads_levels_of_pixels();
    let mut parts = if parts_suffice { parts(scene, &drawn, &numbers, reading) } else { BTreeMap::new() };
    let first = |(image, number)| (image, FirstLevel { number, parts: parts.remove(&image).map(Arc::new) });
    numbers.into_iter().map(first).filter(|(_image, first)| !first.is_all()).collect()
}

/// Returns whether software drivers read each pixel at its own mip level. On x86-64 processors without AVX2, Mesa reads the
/// pixels of a block of 2 × 2 at the level of one of them, which may show another triangle.
fn reads_levels_of_pixels() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    true
}

/// Returns the number of the first level of each image.
fn numbers(scene: &Scene, drawn: &[Drawn<'_>], reading: Reading) -> BTreeMap<usize, u32> {
    let of_primitives: Vec<BTreeMap<usize, Areas>> = drawn.par_iter().map(|one| one.areas(reading)).collect();
    let mut numbers: BTreeMap<usize, u32> = BTreeMap::new();
    for (image, areas) in of_primitives.into_iter().flatten() {
        let file = &scene.model.images[image];
        let number = areas.first_level(halvings([file.width, file.height]));
        numbers.entry(image).and_modify(|first| *first = number.min(*first)).or_insert(number);
    }
    numbers
}

/// Returns the parts of the first levels that are read, if they are small enough. Software drivers do not filter
/// anisotropically, so they read only what is around the centre of a pixel.
fn parts(
    scene: &Scene,
    drawn: &[Drawn<'_>],
    numbers: &BTreeMap<usize, u32>,
    reading: Reading,
) -> BTreeMap<usize, ReadTiles> {
    let texels = |[width, height]: [u32; 2]| u64::from(width) * u64::from(height);
    let mut sizes: BTreeMap<usize, ([u32; 2], u32)> = BTreeMap::new();
    for (image, number) in numbers {
        let file = &scene.model.images[*image];
        let size = [file.width, file.height].map(|side| side >> number);
        if texels(size) >= MIN_TEXELS {
            sizes.insert(*image, (size, *number));
        }
    }
    for one in drawn.iter().flat_map(|one| &one.uses).filter(|one| one.lookup.is_none()) {
        sizes.remove(&one.image);
    }
    let of_primitives: Vec<BTreeMap<usize, ReadTiles>> =
        drawn.par_iter().map(|one| one.parts(&sizes, reading)).collect();
    let mut parts: BTreeMap<usize, ReadTiles> = BTreeMap::new();
    for (image, tiles) in of_primitives.into_iter().flatten() {
        match parts.entry(image) {
            Entry::Vacant(entry) => drop(entry.insert(tiles)),
            Entry::Occupied(mut entry) => entry.get_mut().add(&tiles),
        }
    }
    parts.retain(|image, tiles| {
        let read = tiles.texels() as f64;
        read > 0.0 && read <= MAX_SHARE_OF_PARTS * texels(sizes[image].0) as f64
    });
    parts
}

/// Returns the smallest length from one pixel to the next on the model, and on its reflection in the floor.
fn step(scene: &Scene, size: (u32, u32)) -> f32 {
    let (min, max) = scene.bounds;
    let direct = smallest_step((min, max), &scene.shots, size);
    if scene.reflector.is_none() {
        return direct;
    }
    let mirrored = |p: Vec3| Vec3::new(p.x, 2.0 * scene.floor_height - p.y, p.z);
    let (a, b) = (mirrored(min), mirrored(max));
    direct.min(smallest_step((a.min(b), a.max(b)), &scene.shots, size))
}

/// Returns how often both sides of an image can be halved without a remainder. Further levels are not removed: if the
/// sides of the first level were not exact fractions, a driver would compute slightly different levels from them.
fn halvings(sides: [u32; 2]) -> usize {
    sides.map(u32::trailing_zeros).into_iter().min().unwrap_or(0) as usize
}

/// The surface of a primitive that reads an image, in squared world units, by the finest mip level that it can read.
#[derive(Clone, Debug, Default)]
struct Areas {
    by_level: [f64; LEVELS],
    /// Whether level 0 is kept in any case.
    keeps_all: bool,
}

impl Areas {
    fn add(&mut self, other: &Self) {
        self.by_level.iter_mut().zip(other.by_level).for_each(|(sum, area)| *sum += area);
        self.keeps_all |= other.keeps_all;
    }

    /// Returns the first level that is kept, which is at most `max`.
    fn first_level(&self, max: usize) -> u32 {
        let negligible = NEGLIGIBLE_SHARE * self.by_level.iter().sum::<f64>();
        if self.keeps_all || negligible <= 0.0 {
            return 0;
        }
        let mut finer = 0.0;
        let is_unread = |area: &&f64| {
            finer += **area;
            finer <= negligible
        };
        self.by_level.iter().take(max.min(LEVELS - 1)).take_while(is_unread).count() as u32
    }
}

/// How a primitive reads an image.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Lookup {
    uv_set: usize,
    /// The columns of the transform of the texture coordinates, in texels.
    texels: [Vec2; 3],
}

/// A triangle that reads an image.
struct Measured {
    /// Twice its area in squared world units.
    area: f32,
    /// The finest mip level that is read on it. `None` if it is a line (see [`is_line`]).
    level: Option<usize>,
    /// The texture coordinates of its corners in texels of level 0.
    corners: [Vec2; 3],
}

impl Lookup {
    fn new(uv_set: usize, transform: Option<[f32; 6]>, [width, height]: [u32; 2]) -> Self {
        let [a, b, c, d, e, f] = transform.unwrap_or([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        let size = Vec2::new(width as f32, height as f32);
        Self { uv_set, texels: [Vec2::new(a, d), Vec2::new(b, e), Vec2::new(c, f)].map(|column| column * size) }
    }

    /// Returns texture coordinates in texels of level 0.
    fn in_texels(&self, uv: Vec2) -> Vec2 {
        uv.x * self.texels[0] + uv.y * self.texels[1] + self.texels[2]
    }

    /// Returns twice the area of a triangle, and the density of texels on it.
    fn density(&self, [a, b, c]: [Vec3; 3], uvs: [Vec2; 3]) -> (f32, Density) {
        let (right, left) = (b - a, c - a);
        let area = right.cross(left).length();
        let in_texels = |uv: Vec2| uv.x * self.texels[0] + uv.y * self.texels[1];
        let [to_right, to_left] = [uvs[1] - uvs[0], uvs[2] - uvs[0]].map(in_texels);
        // The gradients of the texture coordinates, turned by 90° in the plane of the triangle.
        let gradient = |to_right: f32, to_left: f32| (left * to_right - right * to_left) / area;
        (area, Density::of(gradient(to_right.x, to_left.x), gradient(to_right.y, to_left.y)))
    }

    /// Processes the triangles of a primitive in tasks: calls `add` for each triangle that may be visible. Returns the
    /// results of the tasks.
    fn measure<T: Send>(
        &self,
        drawn: &Drawn<'_>,
        reading: Reading,
        new: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, &Measured) + Sync,
    ) -> Vec<T> {
        let uvs = drawn.primitive.uvs.get(self.uv_set).map(Vec::as_slice).unwrap_or_default();
        let of_task = |triangles: &[[u32; 3]]| {
            let mut result = new();
            for triangle in triangles {
                let corners = triangle.map(|i| drawn.posed.positions.get(i as usize).copied().unwrap_or_default());
                // Missing texture coordinates are (0, 0).
                let uvs = triangle.map(|i| uvs.get(i as usize).map_or(Vec2::ZERO, |uv| Vec2::from(*uv)));
                let (area, density) = self.density(corners, uvs);
                let is_line = is_line(corners, area);
                if area > 0.0 || is_line {
                    let level = (!is_line).then(|| density.level(reading));
                    add(&mut result, &Measured { area, level, corners: uvs.map(|uv| self.in_texels(uv)) });
                }
            }
            result
        };
        drawn.triangles.par_chunks(TRIANGLES_PER_TASK).map(of_task).collect()
    }
}

/// Returns whether the corners of a triangle are on a line, but apart from each other. `area` is twice its area. Where the
/// corners are rounded to fractions of a pixel, such a triangle may be drawn, at an unknown mip level. If two corners
/// coincide, it is not visible.
fn is_line([a, b, c]: [Vec3; 3], area: f32) -> bool {
    let sides = [a.distance_squared(b), b.distance_squared(c), c.distance_squared(a)];
    let (shortest, longest) = (sides[0].min(sides[1]).min(sides[2]), sides[0].max(sides[1]).max(sides[2]));
    area <= LINE * longest && shortest > LINE * longest
}

/// An image that a primitive reads.
struct ImageUse {
    image: usize,
    /// How texture coordinates outside of the image are wrapped along its width and its height.
    wraps: [Wrap; 2],
    /// `None` if all levels may be read.
    lookup: Option<Lookup>,
}

/// What determines the parts that a primitive reads of an image with a given size: how it is read, and the number of the level.
type PartsKey = (Lookup, [Wrap; 2], u32);

/// A primitive of the scene, and the images that it reads.
struct Drawn<'a> {
    posed: &'a PosedPrimitive,
    primitive: &'a Primitive,
    /// The triangles with which it is drawn.
    triangles: &'a [[u32; 3]],
    uses: Vec<ImageUse>,
}

impl<'a> Drawn<'a> {
    fn new(scene: &'a Scene, posed: &'a PosedPrimitive, indices: &'a [u32], is_reshaped: bool) -> Option<Self> {
        let primitive = primitive_of(scene, posed)?;
        let (model, material) = (&scene.model, &scene.model.materials[primitive.material]);
        // Points and lines have other sizes than triangles. What the clip bends has other sizes in other frames.
        let is_unknown = primitive.topology != Topology::Triangles || is_reshaped;
        let mut uses = Vec::new();
        for used in used_slots(model, material) {
            let texture = texture_of(model, material, used.slot);
            let Some(image) = model.images.get(texture.image) else { continue };
            if u64::from(image.width) * u64::from(image.height) < MIN_TEXELS {
                continue;
            }
            // Shadow maps read the alpha of a material, too, and their texels may be smaller than pixels.
            let is_alpha_tested = used.slot == TextureSlot::BaseColor && material.alpha_mode != AlphaMode::Opaque;
            let reads_all = is_unknown || is_alpha_tested || texture.sampler.mag_nearest;
            let transform = used.slot.of(material).and_then(|reference| reference.transform);
            let lookup = Lookup::new(usize::from(used.second_uv), transform, [image.width, image.height]);
            uses.push(ImageUse {
                image: texture.image,
                wraps: [texture.sampler.wrap_u, texture.sampler.wrap_v],
                lookup: (!reads_all).then_some(lookup),
            });
        }
        Some(Self { posed, primitive, triangles: indices.as_chunks().0, uses })
    }

    /// Returns the area of the primitive by image and level.
    fn areas(&self, reading: Reading) -> BTreeMap<usize, Areas> {
        let mut known: Vec<(Lookup, Areas)> = Vec::new();
        let mut areas: BTreeMap<usize, Areas> = BTreeMap::new();
        for one in &self.uses {
            let of_image = areas.entry(one.image).or_default();
            let Some(lookup) = one.lookup else {
                of_image.keeps_all = true;
                continue;
            };
            if known.iter().all(|(other, _areas)| *other != lookup) {
                known.push((lookup, self.areas_of(lookup, reading)));
            }
            if let Some((_lookup, found)) = known.iter().find(|(other, _areas)| *other == lookup) {
                of_image.add(found);
            }
        }
        areas
    }

    /// Returns the area of all triangles by level.
    fn areas_of(&self, lookup: Lookup, reading: Reading) -> Areas {
        let add = |areas: &mut Areas, one: &Measured| {
            if let Some(level) = one.level {
                areas.by_level[level] += f64::from(one.area);
            }
        };
        let mut sum = Areas::default();
        for areas in lookup.measure(self, reading, Areas::default, add) {
            sum.add(&areas);
        }
        sum
    }

    /// Returns the parts that are read of the first levels of images. `sizes` has their sizes in texels, and their numbers.
    fn parts(&self, sizes: &BTreeMap<usize, ([u32; 2], u32)>, reading: Reading) -> BTreeMap<usize, ReadTiles> {
        let mut known: Vec<(PartsKey, ReadTiles)> = Vec::new();
        let mut parts: BTreeMap<usize, ReadTiles> = BTreeMap::new();
        for one in &self.uses {
            let (Some(lookup), Some((size, number))) = (one.lookup, sizes.get(&one.image)) else { continue };
            let key = (lookup, one.wraps, *number);
            if known.iter().all(|(other, _tiles)| *other != key) {
                let scale = 1.0 / (1_u32 << number) as f32;
                let add = |tiles: &mut ReadTiles, triangle: &Measured| {
                    if triangle.level.is_none_or(|level| level <= *number as usize) {
                        tiles.mark(triangle.corners.map(|corner| corner * scale), one.wraps);
                    }
                };
                let mut tiles = ReadTiles::new(*size);
                for of_task in lookup.measure(self, reading, || ReadTiles::new(*size), add) {
                    tiles.add(&of_task);
                }
                known.push((key, tiles));
            }
            if let Some((_key, tiles)) = known.iter().find(|(other, _tiles)| *other == key) {
                parts.entry(one.image).or_insert_with(|| ReadTiles::new(*size)).add(tiles);
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use glam::Quat;
    use plinth_frame::PixelFormat;
    use plinth_model::{Image, Material, Mesh, Model, Node, Sampler, Texture, TextureRef};
    use plinth_scene::build_scene;
    use plinth_spec::RenderSettings;

    use super::*;
    use crate::gpu::GpuOptions;
    use crate::prepare::drawn_indices;
    use crate::renderer::{Picture, with_prepare_inputs};

    const SOFTWARE: Reading = Reading { step: 0.01, is_anisotropic: false };
    /// A right triangle that is half of a square with the side length 2, and texture coordinates of the whole square.
    const HALF_SQUARE: [Vec3; 3] = [Vec3::ZERO, Vec3::new(2.0, 0.0, 0.0), Vec3::new(0.0, 2.0, 0.0)];
    const CORNERS: [Vec2; 3] = [Vec2::ZERO, Vec2::X, Vec2::Y];

    #[test]
    fn the_density_is_the_number_of_texels_per_unit_length() {
        let lookup = Lookup::new(0, None, [1024, 512]);
        for turn in [Quat::IDENTITY, Quat::from_euler(glam::EulerRot::XYZ, 0.3, 1.2, -0.7)] {
            let (area, density) = lookup.density(HALF_SQUARE.map(|p| turn * p + Vec3::splat(3.0)), CORNERS);
            assert!((area - 4.0).abs() < 1e-4, "{area}");
            assert!((density.largest - 512.0).abs() < 0.1 && (density.smallest - 256.0).abs() < 0.1, "{density:?}");
        }
        // The texture is repeated twice along u, turned by 90°, and shifted.
        let turned = Lookup::new(0, Some([0.0, 1.0, 0.5, 2.0, 0.0, 0.1]), [1024, 512]);
        let (_area, density) = turned.density(HALF_SQUARE, CORNERS);
        assert!((density.largest - 512.0).abs() < 0.1 && (density.smallest - 512.0).abs() < 0.1, "{density:?}");
        // A triangle at the pole of a sphere, which is very narrow because of rounding errors.
        let at_pole = [Vec3::ZERO, Vec3::new(1e-8, 0.0, 0.0), Vec3::new(0.0, 0.2, 0.0)];
        let (_area, density) = lookup.density(at_pole, CORNERS);
        assert!((density.largest / 1.024e11 - 1.0).abs() < 1e-3, "{density:?}");
        // A texture that is stretched along a diagonal.
        let (_area, density) = lookup.density(HALF_SQUARE, [Vec2::ZERO, Vec2::X, Vec2::X]);
        assert!((density.largest - 512.0 * 2_f32.sqrt()).abs() < 0.1 && density.smallest < 0.1, "{density:?}");
    }

    #[test]
    fn a_negligible_part_of_the_surface_may_be_magnified() {
        let first = |areas: &[f64], max: usize| {
            let mut by_level = [0.0; LEVELS];
            by_level[..areas.len()].copy_from_slice(areas);
            Areas { by_level, keeps_all: false }.first_level(max)
        };
        assert_eq!(first(&[0.0, 0.0, 1.0, 2.0], 9), 2);
        assert_eq!(first(&[0.0, 0.0, 1.0, 2.0], 1), 1, "the sides can be halved only once");
        assert_eq!(first(&[1e-4, 1e-4, 1.0, 2.0], 9), 2);
        assert_eq!(first(&[2e-4, 2e-4, 1.0, 2.0], 9), 1, "together they are too large");
        assert_eq!(first(&[1e-3, 0.0, 1.0, 2.0], 9), 0);
        assert_eq!(first(&[0.0; 4], 9), 0, "nothing reads the image");
        let mut all = Areas { keeps_all: true, ..Areas::default() };
        all.add(&Areas { by_level: [1.0; LEVELS], keeps_all: false });
        assert_eq!(all.first_level(9), 0);
        assert_eq!([[2048, 512], [1000, 1000], [1, 4096], [2047, 64]].map(halvings), [9, 3, 0, 0]);
    }

    /// A name, and a change of a scene.
    type Change = (&'static str, fn(&mut Scene));

    /// Returns a scene with a square of 2 × 2 units, and its image of 4096 × 4096 texels.
    fn square_scene() -> Scene {
        let corners = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
        let square = Primitive {
            positions: corners.iter().map(|[x, y]| [*x, *y, 0.0]).collect(),
            normals: vec![[0.0, 0.0, 1.0]; 4],
            uvs: vec![corners.iter().map(|[x, y]| [0.5 * x, 0.5 * y]).collect()],
            indices: vec![0, 1, 2, 0, 2, 3],
            ..Primitive::default()
        };
        let base_color_texture = Some(TextureRef { texture: 0, uv_set: 0, transform: None });
        let model = Model {
            nodes: vec![Node { mesh: Some(0), ..Node::default() }],
            meshes: vec![Mesh { primitives: vec![square], ..Mesh::default() }],
            materials: vec![Material { base_color_texture, ..Material::default() }],
            textures: vec![Texture { image: 0, sampler: Sampler::default() }],
            // Only the size of the image matters.
            images: vec![Image { width: 4096, height: 4096, ..Image::default() }.into()],
            ..Model::default()
        };
        build_scene(Arc::new(model), &RenderSettings::default(), None).unwrap()
    }

    #[test]
    fn triangles_whose_corners_are_on_a_line_read_the_finest_level() {
        let line = [Vec3::ZERO, Vec3::new(0.1, 0.1, 0.0), Vec3::new(0.3, 0.3, 0.0)];
        let area = |[a, b, c]: [Vec3; 3]| (b - a).cross(c - a).length();
        let coincident = [Vec3::ZERO, Vec3::new(1e-8, 0.0, 0.0), Vec3::new(0.0, 0.2, 0.0)];
        assert_eq!(
            [line, coincident, HALF_SQUARE].map(|corners| is_line(corners, area(corners))),
            [true, false, false]
        );
        let mut scene = square_scene();
        let square = &mut model(&mut scene).meshes[0].primitives[0];
        square.positions.extend(line.map(|corner| corner.to_array()));
        square.normals.extend([[0.0, 0.0, 1.0]; 3]);
        square.uvs[0].extend([[0.1, 0.7]; 3]);
        square.indices.extend([4, 5, 6]);
        let posed = scene.pose(None);
        let drawn = Drawn::new(&scene, &posed[0], &scene.model.meshes[0].primitives[0].indices, false).unwrap();
        let found = drawn.parts(&BTreeMap::from([(0, ([4096, 4096], 0))]), SOFTWARE);
        let mut expected = ReadTiles::new([4096, 4096]);
        expected.mark([Vec2::new(409.6, 2867.2); 3], [Wrap::Repeat; 2]);
        assert_eq!(found, BTreeMap::from([(0, expected)]));
        let of_square = Density { largest: 2048.0, smallest: 2048.0 }.level(SOFTWARE);
        assert_eq!(drawn.areas(SOFTWARE)[&0].first_level(9) as usize, of_square, "the line has no area");
    }

    #[test]
    fn fine_levels_are_left_out_only_if_no_frame_can_read_them() {
        let gpu = Gpu::open(&GpuOptions::default()).unwrap();
        let mut all = Gpu::open(&GpuOptions::default()).unwrap();
        all.keep_all_mip_levels();
        let level = |gpu: &Gpu, scene: &Scene, any_camera: bool| {
            let picture = Picture { width: 256, height: 256, format: PixelFormat::Rgba8 };
            with_prepare_inputs(gpu, scene, picture, |inputs| {
                let inputs = &PrepareInputs { any_camera, ..*inputs };
                let indices = drawn_indices(scene, inputs.posed, inputs.smallest);
                let size = (picture.width, picture.height);
                first_levels(gpu, inputs, &indices, size).get(&0).map_or(0, |first| first.number)
            })
        };
        let scene = square_scene();
        let pixel = rounded_length(smallest_step(scene.bounds, &scene.shots, (256, 256)));
        let expected = Density { largest: 2048.0, smallest: 2048.0 }
            .level(Reading { step: pixel, is_anisotropic: !gpu.is_software() });
        assert!(expected > 0, "{pixel}");
        assert_eq!(level(&gpu, &scene, false), expected as u32);
        assert_eq!((level(&all, &scene, false), level(&gpu, &scene, true)), (0, 0));
        let changes: [Change; 5] = [
            ("a dataset", |scene| scene.is_dataset = true),
            ("alpha test", |scene| model(scene).materials[0].alpha_mode = AlphaMode::Mask { cutoff: 0.5 }),
            ("pixel art", |scene| model(scene).textures[0].sampler.mag_nearest = true),
            ("no texture coordinates", |scene| model(scene).meshes[0].primitives[0].uvs.clear()),
            ("a small image", |scene| {
                model(scene).images[0] = Image { width: 256, height: 256, ..Image::default() }.into();
            }),
        ];
        for (name, change) in changes {
            let mut scene = square_scene();
            change(&mut scene);
            assert_eq!(level(&gpu, &scene, false), 0, "{name}");
        }
    }

    fn model(scene: &mut Scene) -> &mut Model {
        Arc::get_mut(&mut scene.model).unwrap()
    }
}
