//! Writes the GLB file. The same input always gives the same bytes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Value, json};

use super::ImportError;
use super::mtl::Material;
use super::obj::{Corner, NONE, Obj, Part};
use super::pictures::{Coverage, Picture, Pictures};
use super::surface::SmoothNormals;
use super::texture::TextureUse;
use crate::decode::image::linear_from_srgb;
use crate::limits::Budget;

const TRANSFORM: &str = "KHR_texture_transform";
const EMISSIVE_STRENGTH: &str = "KHR_materials_emissive_strength";

/// Memory in bytes that each vertex takes in the vertex list, in the map of distinct vertices, and in the file.
const BYTES_PER_VERTEX: u64 = 128;

/// Returns the bytes of the GLB file.
pub(super) fn write(
    obj: &Obj,
    by_name: &BTreeMap<String, Material>,
    mut pictures: Pictures<'_, '_>,
    budget: &Budget,
) -> Result<Vec<u8>, ImportError> {
    let mut materials = Materials::default();
    let mut indices = HashMap::new();
    for (name, material) in by_name {
        indices.insert(name.as_str(), materials.add(name, material, &mut pictures)?);
    }
    let mut glb = Glb::default();
    let mut images: Vec<Value> = Vec::new();
    for Picture { name, mime, bytes } in pictures.take() {
        images.push(json!({"name": &*name, "bufferView": glb.view(&bytes, None), "mimeType": mime}));
    }
    let (mut meshes, mut nodes) = (Vec::new(), Vec::new());
    let mut default_material = None;
    let smooth = SmoothNormals::of(obj, budget)?;
    for part in &obj.parts {
        let index = match indices.get(part.material.as_str()) {
            Some(index) => *index,
            None => match default_material {
                Some(index) => index,
                None => *default_material.insert(materials.add("default", &Material::default(), &mut pictures)?),
            },
        };
        let material = materials.uses[index];
        let mut primitives = Vec::new();
        if !part.triangles.is_empty() {
            primitives.push(glb.triangles(obj, part, &smooth, material, budget)?);
        }
        for (mode, corners) in [(0, &part.points), (1, &part.lines)] {
            if !corners.is_empty() {
                primitives.push(glb.elements(obj, corners, mode, material, budget)?);
            }
        }
        let name = if part.name.is_empty() { "model" } else { &part.name };
        nodes.push(node(obj, meshes.len(), name));
        meshes.push(json!({"name": name, "primitives": primitives}));
    }
    let scene: Vec<usize> = (0..nodes.len()).collect();
    let mut document = json!({
        "asset": {"version": "2.0", "generator": "Plinth"},
        "scene": 0, "scenes": [{"nodes": scene}], "nodes": nodes, "meshes": meshes, "materials": materials.list,
        "accessors": glb.accessors, "bufferViews": glb.views,
    });
    if !images.is_empty() {
        document["images"] = images.into();
        document["samplers"] = json!([
            {"magFilter": 9729, "minFilter": 9987},
            {"magFilter": 9729, "minFilter": 9987, "wrapS": 33071, "wrapT": 33071},
        ]);
        document["textures"] = materials
            .textures
            .iter()
            .map(|(picture, clamp)| json!({"source": picture, "sampler": usize::from(*clamp)}))
            .collect();
    }
    if !materials.extensions.is_empty() {
        document["extensionsUsed"] = json!(materials.extensions);
    }
    glb.file(document)
}

fn node(obj: &Obj, mesh: usize, name: &str) -> Value {
    let mut node = json!({"mesh": mesh, "name": name});
    if obj.origin.iter().any(|c| *c != 0.0) {
        node["translation"] = json!(obj.origin);
    }
    node
}

/// A material of the glTF document, and what determines the vertex attributes of its primitives.
#[derive(Clone, Copy)]
struct MaterialUse {
    index: usize,
    /// Whether the material has a texture, and needs texture coordinates.
    textured: bool,
    /// Whether the material has a colour texture.
    is_colored: bool,
}

/// The materials and textures of the glTF document.
#[derive(Default)]
struct Materials {
    list: Vec<Value>,
    /// The uses of the materials, in the same order.
    uses: Vec<MaterialUse>,
    /// Each texture is the index of an image, and whether texture coordinates are clamped.
    textures: Vec<(usize, bool)>,
    texture_indices: BTreeMap<(usize, bool), usize>,
    /// Names of the glTF extensions that the materials use.
    extensions: BTreeSet<&'static str>,
}

impl Materials {
    fn add(&mut self, name: &str, m: &Material, pictures: &mut Pictures<'_, '_>) -> Result<usize, ImportError> {
        let [r, g, b] = m.color;
        let mut pbr = json!({"baseColorFactor": [r, g, b, m.alpha], "metallicFactor": 0, "roughnessFactor": 1});
        let mut out = json!({"name": name, "doubleSided": true});
        let mut coverage = (m.alpha < 1.0).then_some(Coverage::Blend);
        let color_map = pictures.supported(m.color_map.as_ref())?;
        let with_alpha = match &m.alpha_map {
            Some(alpha) => pictures.with_alpha(color_map, alpha)?,
            None => None,
        };
        let (mut textured, mut is_colored) = (false, false);
        let color = color_map.or(m.alpha_map.as_ref());
        if let (Some((picture, alpha_coverage)), Some(map)) = (with_alpha, color) {
            coverage = coverage.or(Some(alpha_coverage));
            pbr["baseColorTexture"] = self.reference(picture, map);
            is_colored = color_map.is_some();
            textured = true;
        } else if let Some(map) = color_map
            && let Some(picture) = pictures.file(map)?
        {
            pbr["baseColorTexture"] = self.reference(picture, map);
            (is_colored, textured) = (true, true);
        }
        if is_colored {
            // If a material has a colour texture, its colour is ignored, because many exporters write an arbitrary
            // colour there.
            pbr["baseColorFactor"] = json!([1, 1, 1, m.alpha]);
        }
        textured |= self.emission(&mut out, m, pictures)?;
        if let Some(map) = &m.bump_map
            && let Some(normals) = pictures.normals(map, m.is_normal_map)?
        {
            out["normalTexture"] = self.reference(normals.picture, map);
            out["normalTexture"]["scale"] = normals.scale.into();
            textured = true;
        }
        out["pbrMetallicRoughness"] = pbr;
        match coverage {
            None => {}
            Some(Coverage::Mask) => out["alphaMode"] = "MASK".into(),
            Some(Coverage::Blend) => out["alphaMode"] = "BLEND".into(),
        }
        let index = self.list.len();
        self.list.push(out);
        self.uses.push(MaterialUse { index, textured, is_colored });
        Ok(index)
    }

    /// Writes the emission of a material to `out`. Returns whether it has a texture.
    fn emission(
        &mut self,
        out: &mut Value,
        m: &Material,
        pictures: &mut Pictures<'_, '_>,
    ) -> Result<bool, ImportError> {
        // The components of `emissiveFactor` are at most 1.
        let strength = m.emissive.into_iter().fold(1.0, f32::max);
        out["emissiveFactor"] = json!(m.emissive.map(|c| c / strength));
        if strength > 1.0 {
            out["extensions"] = json!({EMISSIVE_STRENGTH: {"emissiveStrength": strength}});
            self.extensions.insert(EMISSIVE_STRENGTH);
        }
        let Some(map) = &m.emissive_map else { return Ok(false) };
        let Some(picture) = pictures.file(map)? else { return Ok(false) };
        out["emissiveTexture"] = self.reference(picture, map);
        if m.emissive.iter().all(|c| *c <= 0.0) {
            out["emissiveFactor"] = json!([1, 1, 1]);
        }
        Ok(true)
    }

    fn reference(&mut self, picture: usize, map: &TextureUse) -> Value {
        let texture = (picture, map.clamp);
        let next = self.textures.len();
        let index = *self.texture_indices.entry(texture).or_insert(next);
        if index == next {
            self.textures.push(texture);
        }
        let mut out = json!({"index": index});
        let ([su, sv], [ou, ov]) = (map.scale, map.offset);
        if !map.is_plain() {
            // The texture coordinate v points up in MTL and down in glTF. Therefore v' = 1 − (sv·(1 − v) + ov).
            out["extensions"] = json!({TRANSFORM: {"scale": [su, sv], "offset": [ou, 1.0 - sv - ov]}});
            self.extensions.insert(TRANSFORM);
        }
        out
    }
}

#[derive(Default)]
struct Glb {
    bin: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Glb {
    fn view(&mut self, bytes: &[u8], target: Option<u32>) -> usize {
        self.bin.resize(self.bin.len().next_multiple_of(4), 0);
        let mut view = json!({"buffer": 0, "byteOffset": self.bin.len(), "byteLength": bytes.len()});
        if let Some(target) = target {
            view["target"] = target.into();
        }
        self.bin.extend_from_slice(bytes);
        self.views.push(view);
        self.views.len() - 1
    }

    fn floats<const N: usize>(&mut self, values: &[[f32; N]], kind: &str) -> usize {
        let bytes: Vec<u8> = values.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
        let view = self.view(&bytes, Some(34962));
        let fold = |combine: fn(f32, f32) -> f32, start: f32| {
            values.iter().fold([start; N], |b, v| std::array::from_fn(|i| combine(b[i], v[i]))).to_vec()
        };
        self.accessors.push(json!({
            "bufferView": view, "componentType": 5126, "count": values.len(), "type": kind,
            "min": fold(f32::min, f32::MAX), "max": fold(f32::max, f32::MIN),
        }));
        self.accessors.len() - 1
    }

    fn triangles(
        &mut self,
        obj: &Obj,
        part: &Part,
        smooth: &SmoothNormals,
        material: MaterialUse,
        budget: &Budget,
    ) -> Result<Value, ImportError> {
        let Vertices { corners, normals, indices } = vertices(obj, part, smooth, budget)?;
        let attributes = self.attributes(obj, &corners, &normals, material);
        let bytes: Vec<u8> = indices.iter().flat_map(|i| i.to_le_bytes()).collect();
        let view = self.view(&bytes, Some(34963));
        self.accessors
            .push(json!({"bufferView": view, "componentType": 5125, "count": indices.len(), "type": "SCALAR"}));
        Ok(json!({"attributes": attributes, "indices": self.accessors.len() - 1, "material": material.index}))
    }

    /// Adds a primitive that consists of points (mode 0) or line segments (mode 1).
    fn elements(
        &mut self,
        obj: &Obj,
        corners: &[Corner],
        mode: u32,
        material: MaterialUse,
        budget: &Budget,
    ) -> Result<Value, ImportError> {
        let bytes = BYTES_PER_VERTEX * corners.len() as u64;
        budget.take_bytes(bytes).map_err(|e| ImportError::Model { problem: e.to_string() })?;
        let attributes = self.attributes(obj, corners, &[], material);
        Ok(json!({"attributes": attributes, "mode": mode, "material": material.index}))
    }

    /// Adds the vertex attributes of the corners. Normals are only added if `normals` is not empty.
    fn attributes(&mut self, obj: &Obj, corners: &[Corner], normals: &[[f32; 3]], material: MaterialUse) -> Value {
        let positions: Vec<[f32; 3]> = corners.iter().map(|c| obj.positions[c.position as usize]).collect();
        let mut attributes = json!({"POSITION": self.floats(&positions, "VEC3")});
        if !normals.is_empty() {
            attributes["NORMAL"] = self.floats(normals, "VEC3").into();
        }
        if material.textured || corners.iter().any(|c| c.uv != NONE) {
            // The texture coordinate v points up in OBJ and down in glTF.
            let uv = |c: &Corner| if c.uv == NONE { [0.0; 2] } else { obj.uvs[c.uv as usize] };
            let uvs: Vec<[f32; 2]> = corners.iter().map(uv).map(|[u, v]| [u, 1.0 - v]).collect();
            attributes["TEXCOORD_0"] = self.floats(&uvs, "VEC2").into();
        }
        // In many scans, vertices and texture have the same colours, which glTF would multiply. Without texture coordinates, the
        // texture has only one colour.
        let shows_texture = material.is_colored && corners.iter().any(|c| c.uv != NONE);
        if !obj.colors.is_empty() && !shows_texture {
            let color = |c: &Corner| obj.colors[c.position as usize].map(linear_from_srgb);
            let colors: Vec<[f32; 3]> = corners.iter().map(color).collect();
            attributes["COLOR_0"] = self.floats(&colors, "VEC3").into();
        }
        attributes
    }

    fn file(mut self, mut document: Value) -> Result<Vec<u8>, ImportError> {
        self.bin.resize(self.bin.len().next_multiple_of(4), 0);
        document["buffers"] = json!([{"byteLength": self.bin.len()}]);
        let mut text = document.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(4), b' ');
        let total = 28 + text.len() + self.bin.len();
        let word = |n: usize| u32::try_from(n).map(u32::to_le_bytes);
        let (Ok(total), Ok(text_size), Ok(bin_size)) = (word(total), word(text.len()), word(self.bin.len())) else {
            return Err(ImportError::TooLarge { limit: u64::from(u32::MAX) });
        };
        let mut out = Vec::with_capacity(28 + text.len() + self.bin.len());
        for bytes in [b"glTF".as_slice(), &2_u32.to_le_bytes(), &total, &text_size, b"JSON", &text, &bin_size, b"BIN\0"]
        {
            out.extend_from_slice(bytes);
        }
        out.extend_from_slice(&self.bin);
        Ok(out)
    }
}

/// The distinct vertices of a part, and the indices of its triangles.
struct Vertices {
    corners: Vec<Corner>,
    normals: Vec<[f32; 3]>,
    indices: Vec<u32>,
}

fn vertices(obj: &Obj, part: &Part, smooth: &SmoothNormals, budget: &Budget) -> Result<Vertices, ImportError> {
    let too_large = |e: crate::ModelError| ImportError::Model { problem: e.to_string() };
    budget.take::<[u32; 6]>(part.triangles.len()).map_err(too_large)?;
    let mut out = Vertices { corners: Vec::new(), normals: Vec::new(), indices: Vec::new() };
    out.indices.reserve_exact(part.triangles.len() * 3);
    let mut index_of: HashMap<(Corner, [i16; 3]), u32> = HashMap::new();
    for triangle in &part.triangles {
        for corner in triangle.corners {
            let normal = smooth.normal(obj, triangle, corner).to_array();
            let key = (corner, normal.map(|c| (c * 4096.0).round() as i16));
            let next = out.corners.len() as u32;
            let index = *index_of.entry(key).or_insert(next);
            if index == next {
                budget.take_bytes(BYTES_PER_VERTEX).map_err(too_large)?;
                out.corners.push(corner);
                out.normals.push(normal);
            }
            out.indices.push(index);
        }
    }
    Ok(out)
}
