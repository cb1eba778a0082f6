//! Decodes meshes and their primitives.

use std::collections::BTreeMap;

use glam::Vec3;

use super::tangent::{Tangents, UvMapping};
use super::{draco, flat};
use crate::accessor::Reader;
use crate::error::{ModelError, Result};
use crate::json;
use crate::limits::check;
use crate::model::{Material, Mesh, MorphTarget, Primitive, Topology};
use crate::source::Source;

/// Maximum number of texture coordinate sets that are read from a primitive.
const MAX_UV_SETS: usize = 8;
/// Maximum number of joint and weight attributes that are read from a primitive. Each contains four joints per vertex.
const MAX_INFLUENCE_SETS: usize = 4;

/// Decodes the meshes that are drawn; all other meshes stay empty. `uses` contains for each mesh how often it is drawn.
pub(crate) fn meshes(source: &Source<'_>, materials: &[Material], uses: &[u64]) -> Result<Vec<Mesh>> {
    let mut totals = Totals::default();
    source
        .root
        .meshes
        .iter()
        .enumerate()
        .map(|(m, mesh)| {
            let name = mesh.name.clone().unwrap_or_else(|| format!("mesh_{m}"));
            let mut out = Mesh { name, primitives: Vec::new() };
            if uses[m] == 0 {
                return Ok(out);
            }
            for (p, primitive) in mesh.primitives.iter().enumerate() {
                let location = format!("meshes[{m}].primitives[{p}]");
                let reader = PrimitiveReader { source, location: &location, primitive };
                let Some(decoded) = reader.primitive(materials)? else { continue };
                totals.add(source, &decoded, uses[m])?;
                out.primitives.push(decoded);
            }
            Ok(out)
        })
        .collect()
}

#[derive(Default)]
struct Totals {
    vertices: u64,
    indices: u64,
    morphs: u64,
}

impl Totals {
    fn add(&mut self, source: &Source<'_>, primitive: &Primitive, uses: u64) -> Result<()> {
        let vertices = primitive.positions.len() as u64;
        self.vertices = self.vertices.saturating_add(vertices.saturating_mul(uses));
        self.indices = self.indices.saturating_add((primitive.indices.len() as u64).saturating_mul(uses));
        self.morphs = self.morphs.saturating_add(vertices * primitive.morph_targets.len() as u64);
        check("vertices", self.vertices, source.limits.vertices)?;
        check("indices", self.indices, source.limits.indices)?;
        check("morph target values", self.morphs, source.limits.morph_values)
    }
}

struct PrimitiveReader<'a> {
    source: &'a Source<'a>,
    location: &'a str,
    primitive: &'a json::Primitive,
}

/// The source of a primitive's attributes: accessors or Draco-compressed data.
struct Attributes<'a> {
    reader: &'a PrimitiveReader<'a>,
    compressed: Option<draco::Decoded>,
    count: usize,
}

impl PrimitiveReader<'_> {
    fn invalid(&self, problem: impl Into<String>) -> ModelError {
        ModelError::invalid(self.location, problem)
    }

    fn warn_not_finite(&self, attribute: &str) {
        self.source.warn(&format!("{}: {attribute} has values that are not finite, read as 0", self.location));
    }

    fn warn_not_drawn(&self, missing: &str) {
        self.source.warn(&format!("{}: it has no {missing}, so it is not drawn", self.location));
    }

    /// Returns whether an attribute contains tangents without their handedness, and adds a warning if it does. With mirrored
    /// texture coordinates, such tangents would turn bumps into dents. `needed` is the number of components that are read.
    fn lacks_handedness(&self, name: &str, components: usize, needed: usize) -> bool {
        let lacks = name == "TANGENT" && (components, needed) == (3, 4);
        if lacks {
            self.source.warn("TANGENT has 3 components; tangents are computed instead");
        }
        lacks
    }

    /// Decodes the primitive. If it has no positions (glTF 2.0, section 3.7.2.1) or no vertices, adds a warning and
    /// returns `None`.
    fn primitive(&self, materials: &[Material]) -> Result<Option<Primitive>> {
        let Some(position) = self.source.root.drawn_positions(self.primitive) else {
            self.warn_not_drawn(if self.primitive.positions().is_some() { "vertices" } else { "POSITION" });
            return Ok(None);
        };
        let material = match self.primitive.material {
            None => materials.len() - 1,
            Some(m) if m + 1 < materials.len() => m,
            Some(m) => return Err(self.invalid(format!("material {m} does not exist"))),
        };
        let mut compressed = match &self.primitive.extensions.draco {
            None => None,
            Some(compressed) => Some(draco::decode(self.source, self.location, compressed)?),
        };
        if compressed.as_ref().is_some_and(|decoded| decoded.points == 0) {
            self.warn_not_drawn("vertices");
            return Ok(None);
        }
        let compressed_indices = compressed.as_mut().map(|p| std::mem::take(&mut p.indices));
        let count = match &compressed {
            Some(compressed) => compressed.points,
            None => Reader::open(self.source, position)?.count,
        };
        let attributes = Attributes { reader: self, compressed, count };
        let mut out = Primitive { material, ..Primitive::default() };
        out.positions = attributes.vectors::<3>("POSITION")?.unwrap_or_default();
        if out.positions.is_empty() {
            return Err(self.invalid("it has no vertices"));
        }
        self.read_topology(compressed_indices, &mut out)?;
        out.normals = unit_normals(attributes.vectors::<3>("NORMAL")?.unwrap_or_default());
        out.tangents = unit_tangents(attributes.vectors::<4>("TANGENT")?.unwrap_or_default());
        out.uvs = attributes.uv_sets()?;
        out.colors = attributes.colors()?;
        Self::read_influences(&attributes, &mut out)?;
        out.morph_targets = self.morph_targets(count)?;
        add_missing_normals_and_tangents(&mut out, &materials[material], self.source)?;
        Ok(Some(out))
    }

    fn read_topology(&self, compressed: Option<Vec<u32>>, out: &mut Primitive) -> Result<()> {
        let count = out.positions.len() as u64;
        let mode = if compressed.is_some() { 4 } else { self.primitive.mode.unwrap_or(4) };
        let mut raw = match (compressed, self.primitive.indices) {
            (Some(indices), _) => indices,
            (None, Some(accessor)) => Reader::open(self.source, accessor)?.integers()?,
            (None, None) => {
                self.source.budget.take::<u32>(out.positions.len())?;
                (0..out.positions.len() as u32).collect()
            }
        };
        check("indices", raw.len() as u64, self.source.limits.indices)?;
        if let Some(index) = raw.iter().find(|i| u64::from(**i) >= count) {
            return Err(self.invalid(format!("index {index} is out of range: there are {count} vertices")));
        }
        // Strips, loops and fans refer to most vertices several times. Converted to triangles or line segments, they
        // have up to three times as many indices.
        self.source.budget.take::<u32>(if matches!(mode, 2 | 3 | 5 | 6) { raw.len() * 3 } else { 0 })?;
        (out.topology, out.indices) = match mode {
            0 => (Topology::Points, raw),
            1 => {
                raw.truncate(raw.len() / 2 * 2);
                (Topology::Lines, raw)
            }
            2 | 3 => {
                let mut pairs: Vec<u32> = raw.windows(2).flatten().copied().collect();
                if mode == 2 && raw.len() > 2 {
                    pairs.extend([raw[raw.len() - 1], raw[0]]);
                }
                (Topology::Lines, pairs)
            }
            4 => {
                raw.truncate(raw.len() / 3 * 3);
                (Topology::Triangles, raw)
            }
            5 => {
                let triangle =
                    |(i, t): (usize, &[u32])| if i % 2 == 0 { [t[0], t[1], t[2]] } else { [t[0], t[2], t[1]] };
                (Topology::Triangles, raw.windows(3).enumerate().flat_map(triangle).collect())
            }
            6 => {
                let fan = |pair: &[u32]| [pair[0], pair[1], raw[0]];
                (Topology::Triangles, raw.get(1..).unwrap_or(&[]).windows(2).flat_map(fan).collect())
            }
            other => return Err(self.invalid(format!("mode {other} does not exist"))),
        };
        Ok(())
    }

    fn read_influences(attributes: &Attributes<'_>, out: &mut Primitive) -> Result<()> {
        let mut sets = Vec::new();
        for set in 0..MAX_INFLUENCE_SETS {
            let joints = attributes.vectors::<4>(&format!("JOINTS_{set}"))?;
            let weights = attributes.vectors::<4>(&format!("WEIGHTS_{set}"))?;
            let (Some(joints), Some(weights)) = (joints, weights) else { break };
            sets.push((joints, weights));
        }
        if sets.is_empty() {
            return Ok(());
        }
        attributes.reader.source.budget.take::<([u16; 4], [f32; 4])>(out.positions.len())?;
        let mut all: Vec<(u16, f32)> = Vec::with_capacity(4 * MAX_INFLUENCE_SETS);
        for vertex in 0..out.positions.len() {
            all.clear();
            for (joints, weights) in &sets {
                all.extend(joints[vertex].iter().zip(weights[vertex]).map(|(j, w)| (*j as u16, w.max(0.0))));
            }
            let (joints, weights) = strongest(&mut all);
            out.joints.push(joints);
            out.weights.push(weights);
        }
        Ok(())
    }

    fn morph_targets(&self, count: usize) -> Result<Vec<MorphTarget>> {
        check(
            "morph target values",
            (count as u64).saturating_mul(self.primitive.targets.len() as u64),
            self.source.limits.morph_values,
        )?;
        let is_unsupported = |name: &String| name.starts_with("COLOR_") || name.starts_with("TEXCOORD_");
        if self.primitive.targets.iter().flat_map(BTreeMap::keys).any(is_unsupported) {
            let location = self.location;
            self.source.warn(&format!("{location}: morph targets do not change its colours and texture coordinates"));
        }
        self.primitive
            .targets
            .iter()
            .map(|target| {
                let read = |name: &str| accessor_vectors::<3>(self, target, name, count).map(Option::unwrap_or_default);
                Ok(MorphTarget { positions: read("POSITION")?, normals: read("NORMAL")?, tangents: read("TANGENT")? })
            })
            .collect()
    }
}

/// Returns the four influences with the largest weights, scaled so that the weights add up to 1. The joint of an
/// influence with weight 0 is set to 0, because exporters write arbitrary joints there.
fn strongest(influences: &mut [(u16, f32)]) -> ([u16; 4], [f32; 4]) {
    influences.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let sum: f32 = influences.iter().take(4).map(|(_, w)| w).sum();
    let (mut joints, mut weights) = ([0; 4], [1.0, 0.0, 0.0, 0.0]);
    if sum > 0.0 {
        for (k, (joint, weight)) in influences.iter().take(4).enumerate() {
            weights[k] = weight / sum;
            joints[k] = if *weight > 0.0 { *joint } else { 0 };
        }
    }
    (joints, weights)
}

fn accessor_vectors<const N: usize>(
    primitive: &PrimitiveReader<'_>,
    attributes: &BTreeMap<String, usize>,
    name: &str,
    count: usize,
) -> Result<Option<Vec<[f32; N]>>> {
    let Some(accessor) = attributes.get(name) else { return Ok(None) };
    let reader = Reader::open(primitive.source, *accessor)?;
    if reader.count != count {
        return Err(primitive.invalid(format!("{name} has {} values for {count} vertices", reader.count)));
    }
    if must_be_finite(name) {
        return reader.vectors::<N>().map(Some);
    }
    if primitive.lacks_handedness(name, reader.components, N) {
        return Ok(None);
    }
    let (values, had_non_finite) = if name.starts_with("TEXCOORD_") && reader.components > N {
        primitive.source.warn(&format!("{name} has {} components; it is read as if it had {N}", reader.components));
        reader.shortened_vectors::<N>()?
    } else {
        reader.finite_vectors::<N>()?
    };
    if had_non_finite {
        primitive.warn_not_finite(name);
    }
    Ok(Some(values))
}

/// Returns whether a primitive is rejected if a value of the attribute is not finite. A vertex without a valid position
/// cannot be drawn. For all other attributes, 0 is a usable value.
fn must_be_finite(name: &str) -> bool {
    name == "POSITION"
}

impl Attributes<'_> {
    fn vectors<const N: usize>(&self, name: &str) -> Result<Option<Vec<[f32; N]>>> {
        if let Some(compressed) = &self.compressed
            && let Some(components) = compressed.components(name)
        {
            if self.reader.lacks_handedness(name, components, N) {
                return Ok(None);
            }
            self.reader.source.budget.take::<[f32; N]>(self.count)?;
            let mut values = compressed.floats(name, N, self.divisor(name)).unwrap_or_default();
            if values.len() != self.count * N {
                return Err(self.reader.invalid(format!("{name} has fewer values than vertices")));
            }
            if values.iter().any(|v| !v.is_finite()) {
                if must_be_finite(name) {
                    return Err(self.reader.invalid(format!("{name} has a value that is not finite")));
                }
                values.iter_mut().filter(|v| !v.is_finite()).for_each(|v| *v = 0.0);
                self.reader.warn_not_finite(name);
            }
            return Ok(Some(values.as_chunks::<N>().0.to_vec()));
        }
        accessor_vectors::<N>(self.reader, &self.reader.primitive.attributes, name, self.count)
    }

    /// Returns the divisor that converts the integers of a compressed attribute to floats, according to its accessor.
    fn divisor(&self, name: &str) -> f32 {
        let accessors = &self.reader.source.root.accessors;
        let accessor = self.reader.primitive.attributes.get(name).and_then(|a| accessors.get(*a));
        match accessor.filter(|a| a.normalized).map(|a| a.component_type) {
            Some(5120) => 127.0,
            Some(5121) => 255.0,
            Some(5122) => 32767.0,
            Some(5123) => 65535.0,
            _ => 1.0,
        }
    }

    fn uv_sets(&self) -> Result<Vec<Vec<[f32; 2]>>> {
        let mut sets = Vec::new();
        for set in 0..MAX_UV_SETS {
            if let Some(uvs) = self.vectors::<2>(&format!("TEXCOORD_{set}"))? {
                // Missing sets become empty lists, so that the index of each set is its number in the file.
                sets.resize(set, Vec::new());
                sets.push(uvs);
            }
        }
        Ok(sets)
    }

    fn colors(&self) -> Result<Vec<[f32; 4]>> {
        let is_rgb = match (&self.compressed, self.reader.primitive.attributes.get("COLOR_0")) {
            (_, None) => return Ok(Vec::new()),
            (Some(compressed), Some(_)) if compressed.components("COLOR_0").is_some() => {
                compressed.components("COLOR_0") == Some(3)
            }
            (_, Some(accessor)) => Reader::open(self.reader.source, *accessor)?.components == 3,
        };
        let mut colors: Vec<[f32; 4]> = if is_rgb {
            let colors = self.vectors::<3>("COLOR_0")?.unwrap_or_default();
            colors.into_iter().map(|[r, g, b]| [r, g, b, 1.0]).collect()
        } else {
            self.vectors::<4>("COLOR_0")?.unwrap_or_default()
        };
        // glTF 2.0, section 3.7.2.1: "MUST be clamped".
        for channel in colors.as_flattened_mut() {
            *channel = channel.clamp(0.0, 1.0);
        }
        Ok(colors)
    }
}

fn unit_normals(mut normals: Vec<[f32; 3]>) -> Vec<[f32; 3]> {
    for n in &mut normals {
        *n = Vec3::from(*n).normalize_or(Vec3::Y).to_array();
    }
    normals
}

/// Normalises tangents from the file. A tangent of length zero becomes (1, 0, 0) with handedness 0.
fn unit_tangents(mut tangents: Vec<[f32; 4]>) -> Vec<[f32; 4]> {
    for t in &mut tangents {
        let [x, y, z, w] = *t;
        let direction = Vec3::new(x, y, z).try_normalize();
        let sign = if w < 0.0 { -1.0 } else { 1.0 };
        *t = direction.map_or([1.0, 0.0, 0.0, 0.0], |d| d.extend(sign).to_array());
    }
    tangents
}

/// Generates normals if the file has none, and tangents if the file has none and the material needs them.
fn add_missing_normals_and_tangents(primitive: &mut Primitive, material: &Material, source: &Source<'_>) -> Result<()> {
    if primitive.topology != Topology::Triangles {
        return Ok(());
    }
    if primitive.normals.is_empty() {
        source.budget.take_bytes(flat::bytes(primitive))?;
        flat::shade(primitive);
    }
    let Some(mapping) = UvMapping::of(material).filter(|mapping| mapping.exists_in(primitive)) else {
        // Anisotropic reflections follow the tangents also without a texture.
        if material.anisotropy.is_none() {
            primitive.tangents = Vec::new();
        }
        return Ok(());
    };
    if primitive.tangents.is_empty() {
        source.budget.take_bytes(Tangents::generation_bytes(primitive))?;
        // The primitive has no tangents, so displacements of tangents are ignored (glTF 2.0, section 3.7.2.2).
        primitive.morph_targets.iter_mut().for_each(|target| target.tangents = Vec::new());
        if let Some(tangents) = Tangents::of(primitive, mapping) {
            source.budget.take_bytes(tangents.copied_bytes(primitive))?;
            tangents.apply_to(primitive);
        }
    }
    Ok(())
}
