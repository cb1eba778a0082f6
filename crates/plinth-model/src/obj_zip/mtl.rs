//! Wavefront MTL.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::ImportError;
use super::archive::Archive;
use super::obj::{Obj, decode_text};
use crate::decode::image::{Kind, kind, linear_from_srgb};
use crate::limits::Limits;

/// A material as far as glTF can hold it.
#[derive(Clone, Debug)]
pub(super) struct Material {
    /// Linear.
    pub(super) color: [f32; 3],
    pub(super) alpha: f32,
    /// Linear.
    pub(super) emissive: [f32; 3],
    /// Name of the texture's entry.
    pub(super) texture: Option<String>,
}

impl Default for Material {
    fn default() -> Self {
        Self { color: [1.0; 3], alpha: 1.0, emissive: [0.0; 3], texture: None }
    }
}

/// Materials by name and the textures they use.
#[derive(Debug, Default)]
pub(super) struct Materials {
    pub(super) by_name: BTreeMap<String, Material>,
    /// Entry name to MIME type and bytes.
    pub(super) textures: BTreeMap<String, (&'static str, Vec<u8>)>,
}

/// Reads the libraries that an OBJ names; what is missing is a warning.
pub(super) fn load(
    archive: &mut Archive<'_>,
    beside: &str,
    obj: &Obj,
    limits: &Limits,
    warnings: &mut Vec<String>,
) -> Result<Materials, ImportError> {
    let mut out = Materials::default();
    for line in &obj.libraries {
        for library in libraries(archive, beside, line) {
            match library {
                Ok(name) => {
                    let text = decode_text(&archive.read(&name)?);
                    read_library(archive, &name, &text, &mut out, warnings);
                }
                Err(missing) => warnings.push(format!("the material library '{missing}' is not in the ZIP")),
            }
        }
    }
    let wanted: Vec<String> = out.by_name.values().filter_map(|m| m.texture.clone()).collect();
    for name in wanted {
        if let Entry::Vacant(slot) = out.textures.entry(name) {
            let bytes = archive.read(slot.key())?;
            let mime = checked(slot.key(), &bytes, limits)?;
            slot.insert((mime, bytes));
        }
    }
    Ok(out)
}

/// A `mtllib` line is one name with spaces, or several names.
fn libraries(archive: &Archive<'_>, beside: &str, line: &str) -> Vec<Result<String, String>> {
    if let Some(whole) = archive.find(beside, line) {
        return vec![Ok(whole)];
    }
    let mut out = Vec::new();
    let mut rest = line;
    while let Some(end) = rest.to_lowercase().find(".mtl") {
        let (name, after) = rest.split_at(end + 4);
        out.push(archive.find(beside, name.trim()).ok_or_else(|| name.trim().to_owned()));
        rest = after;
    }
    if out.is_empty() {
        out.push(Err(line.to_owned()));
    }
    out
}

fn read_library(archive: &Archive<'_>, beside: &str, text: &str, out: &mut Materials, warnings: &mut Vec<String>) {
    let mut current: Option<String> = None;
    for line in text.lines().map(str::trim) {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        if word.eq_ignore_ascii_case("newmtl") {
            out.by_name.insert(rest.to_owned(), Material::default());
            current = Some(rest.to_owned());
            continue;
        }
        let Some(material) = current.as_ref().and_then(|name| out.by_name.get_mut(name)) else { continue };
        let numbers: Vec<f32> = rest.split_whitespace().filter_map(|t| t.parse().ok()).collect();
        // Colours are taken as displayed, as other viewers do.
        let color = |n: &[f32]| match n {
            [r, g, b, ..] => Some([*r, *g, *b].map(|c| linear_from_srgb(c.clamp(0.0, 1.0)))),
            _ => None,
        };
        match word.to_lowercase().as_str() {
            "kd" => material.color = color(&numbers).unwrap_or(material.color),
            "ke" => material.emissive = color(&numbers).unwrap_or(material.emissive),
            "d" => material.alpha = numbers.first().map_or(material.alpha, |a| a.clamp(0.0, 1.0)),
            // Many exporters write the opacity here: a wholly invisible material is one of theirs.
            "tr" => {
                let shown = numbers.first().map(|t| 1.0 - t.clamp(0.0, 1.0)).filter(|alpha| *alpha > 0.0);
                material.alpha = shown.unwrap_or(material.alpha);
            }
            "map_kd" => match texture(archive, beside, rest) {
                Some(name) => {
                    material.texture = Some(name);
                    material.color = [1.0; 3];
                }
                None => warnings.push(format!("the texture '{rest}' is not in the ZIP")),
            },
            "map_ks" | "map_ns" | "map_bump" | "bump" | "map_d" | "map_ke" | "norm" | "disp" => {
                warnings.push(format!("{word} is left out: only base colour textures are converted"));
            }
            _ => {}
        }
    }
}

/// Finds a texture whose name may follow options: the longest tail of the words that names an entry.
fn texture(archive: &Archive<'_>, beside: &str, rest: &str) -> Option<String> {
    let mut tail = rest;
    loop {
        if let Some(found) = archive.find(beside, tail.trim()) {
            return Some(found);
        }
        tail = tail.trim_start().split_once(char::is_whitespace)?.1;
    }
}

/// Refuses what is no PNG or JPEG, or too large.
fn checked(name: &str, bytes: &[u8], limits: &Limits) -> Result<&'static str, ImportError> {
    let fault = |problem: String| ImportError::Texture { name: crate::source::shortened(name), problem };
    let mime = match kind(bytes) {
        Some(Kind::Png) => "image/png",
        Some(Kind::Jpeg) => "image/jpeg",
        _ => return Err(fault("it is neither PNG nor JPEG".to_owned())),
    };
    let reader = image::ImageReader::new(std::io::Cursor::new(bytes)).with_guessed_format();
    let (width, height) =
        reader.map_err(|e| fault(e.to_string()))?.into_dimensions().map_err(|e| fault(e.to_string()))?;
    if width == 0 || height == 0 || u64::from(width.max(height)) > limits.image_side {
        return Err(fault(format!("its size of {width}×{height} is not accepted")));
    }
    Ok(mime)
}
