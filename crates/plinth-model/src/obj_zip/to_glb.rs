//! Writes the GLB: the same input always gives the same bytes.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::ImportError;
use super::mtl::{Material, Materials};
use super::obj::{Corner, Obj, Part};
use super::surface::{Smooth, Vertex, triangulate};
use crate::decode::image::linear_from_srgb;

/// Builds the file.
pub(super) fn write(obj: &Obj, materials: &Materials) -> Result<Vec<u8>, ImportError> {
    let mut glb = Glb::default();
    let names: Vec<&String> = materials.by_name.keys().collect();
    let images: BTreeMap<&String, usize> = materials.textures.keys().enumerate().map(|(i, n)| (n, i)).collect();
    let mut json_images = Vec::new();
    for (mime, bytes) in materials.textures.values() {
        json_images.push(json!({"bufferView": glb.view(bytes, None), "mimeType": mime}));
    }
    let mut json_materials: Vec<Value> =
        names.iter().map(|name| material(name, &materials.by_name[*name], &images)).collect();
    let (mut meshes, mut nodes) = (Vec::new(), Vec::new());
    let mut default_material = None;
    for part in merged(&obj.parts) {
        let index = names.iter().position(|n| **n == part.material).unwrap_or_else(|| {
            *default_material.get_or_insert_with(|| {
                json_materials.push(material("default", &Material::default(), &images));
                json_materials.len() - 1
            })
        });
        let primitive = glb.primitive(obj, &part, index);
        let name = if part.name.is_empty() { "model".to_owned() } else { part.name };
        nodes.push(json!({"mesh": meshes.len(), "name": name}));
        meshes.push(json!({"name": name, "primitives": [primitive]}));
    }
    let scene: Vec<usize> = (0..nodes.len()).collect();
    let mut document = json!({
        "asset": {"version": "2.0", "generator": "Plinth"},
        "scene": 0, "scenes": [{"nodes": scene}], "nodes": nodes, "meshes": meshes, "materials": json_materials,
        "accessors": glb.accessors, "bufferViews": glb.views,
    });
    if !json_images.is_empty() {
        document["textures"] = (0..json_images.len()).map(|i| json!({"source": i, "sampler": 0})).collect();
        document["samplers"] = json!([{"magFilter": 9729, "minFilter": 9987}]);
        document["images"] = Value::from(json_images);
    }
    glb.file(document)
}

/// Parts of the same name and material become one, in order of their first face.
fn merged(parts: &[Part]) -> Vec<Part> {
    let mut out: Vec<Part> = Vec::new();
    let mut known: HashMap<(&str, &str), usize> = HashMap::new();
    for part in parts {
        let at = *known.entry((&part.name, &part.material)).or_insert_with(|| {
            out.push(Part { name: part.name.clone(), material: part.material.clone(), faces: Vec::new() });
            out.len() - 1
        });
        out[at].faces.extend(part.faces.iter().cloned());
    }
    out
}

fn material(name: &str, m: &Material, images: &BTreeMap<&String, usize>) -> Value {
    let [r, g, b] = m.color;
    let mut pbr = json!({"baseColorFactor": [r, g, b, m.alpha], "metallicFactor": 0, "roughnessFactor": 1});
    if let Some(image) = m.texture.as_ref().and_then(|t| images.get(t)) {
        pbr["baseColorTexture"] = json!({"index": image});
    }
    let mut out = json!({"name": name, "pbrMetallicRoughness": pbr, "emissiveFactor": m.emissive, "doubleSided": true});
    if m.alpha < 1.0 {
        out["alphaMode"] = "BLEND".into();
    }
    out
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
        let fold = |pick: fn(f32, f32) -> f32, from: f32| {
            values.iter().fold([from; N], |b, v| std::array::from_fn(|i| pick(b[i], v[i]))).to_vec()
        };
        self.accessors.push(json!({
            "bufferView": view, "componentType": 5126, "count": values.len(), "type": kind,
            "min": fold(f32::min, f32::MAX), "max": fold(f32::max, f32::MIN),
        }));
        self.accessors.len() - 1
    }

    fn primitive(&mut self, obj: &Obj, part: &Part, material: usize) -> Value {
        let triangles: Vec<[Corner; 3]> =
            part.faces.iter().flat_map(|f| triangulate(obj, f).into_iter().map(|t| t.map(|i| f[i]))).collect();
        let smooth = Smooth::of(obj, &triangles);
        let mut vertices: Vec<Vertex> = Vec::new();
        let mut known: HashMap<(Corner, [i16; 3]), u32> = HashMap::new();
        let mut indices: Vec<u32> = Vec::with_capacity(triangles.len() * 3);
        for t in &triangles {
            for corner in t {
                let normal = smooth.normal(obj, t, *corner);
                let key = (*corner, normal.to_array().map(|c| (c * 4096.0).round() as i16));
                indices.push(*known.entry(key).or_insert_with(|| {
                    vertices.push(Vertex { corner: *corner, normal });
                    (vertices.len() - 1) as u32
                }));
            }
        }
        let positions: Vec<[f32; 3]> = vertices.iter().map(|v| obj.positions[v.corner.position as usize]).collect();
        let normals: Vec<[f32; 3]> = vertices.iter().map(|v| v.normal.to_array()).collect();
        let mut attributes =
            json!({"POSITION": self.floats(&positions, "VEC3"), "NORMAL": self.floats(&normals, "VEC3")});
        if vertices.iter().any(|v| v.corner.uv.is_some()) {
            // v runs up in OBJ and down in glTF.
            let uv = |v: &Vertex| v.corner.uv.map_or([0.0; 2], |i| obj.uvs[i as usize]);
            let uvs: Vec<[f32; 2]> = vertices.iter().map(uv).map(|[u, v]| [u, 1.0 - v]).collect();
            attributes["TEXCOORD_0"] = self.floats(&uvs, "VEC2").into();
        }
        if !obj.colors.is_empty() {
            let color = |v: &Vertex| obj.colors[v.corner.position as usize].map(linear_from_srgb);
            let colors: Vec<[f32; 3]> = vertices.iter().map(color).collect();
            attributes["COLOR_0"] = self.floats(&colors, "VEC3").into();
        }
        let bytes: Vec<u8> = indices.iter().flat_map(|i| i.to_le_bytes()).collect();
        let view = self.view(&bytes, Some(34963));
        self.accessors
            .push(json!({"bufferView": view, "componentType": 5125, "count": indices.len(), "type": "SCALAR"}));
        json!({"attributes": attributes, "indices": self.accessors.len() - 1, "material": material})
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
        for piece in [b"glTF".as_slice(), &2_u32.to_le_bytes(), &total, &text_size, b"JSON", &text, &bin_size, b"BIN\0"]
        {
            out.extend_from_slice(piece);
        }
        out.extend_from_slice(&self.bin);
        Ok(out)
    }
}
