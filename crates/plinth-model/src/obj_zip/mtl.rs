//! Parses MTL files, the material libraries of OBJ files.

use std::collections::{BTreeMap, BTreeSet};

use super::archive::Archive;
use super::obj::Obj;
use super::texture::{TextureUse, texture_use};
use super::{ImportError, text};
use crate::decode::image::linear_from_srgb;
use crate::warnings::Warnings;

/// The properties of a material that glTF can represent.
#[derive(Clone, Debug)]
pub(super) struct Material {
    /// Linear diffuse colour.
    pub(super) color: [f32; 3],
    pub(super) alpha: f32,
    /// Linear emitted colour. Components may exceed 1.
    pub(super) emissive: [f32; 3],
    pub(super) color_map: Option<TextureUse>,
    pub(super) alpha_map: Option<TextureUse>,
    pub(super) emissive_map: Option<TextureUse>,
    /// A height map, or a normal map if `is_normal_map` is true.
    pub(super) bump_map: Option<TextureUse>,
    /// Whether the MTL file declares `bump_map` as a normal map (statement `norm`).
    pub(super) is_normal_map: bool,
}

impl Default for Material {
    fn default() -> Self {
        Self {
            color: [1.0; 3],
            alpha: 1.0,
            emissive: [0.0; 3],
            color_map: None,
            alpha_map: None,
            emissive_map: None,
            bump_map: None,
            is_normal_map: false,
        }
    }
}

/// The definition of a material that the OBJ file uses.
struct Definition {
    material: Material,
    /// Whether the names in the MTL file and in the OBJ file are equal. Otherwise, they differ by a trailing comment.
    is_exact: bool,
}

/// Reads the material libraries of an OBJ file. Returns the materials that the elements of the OBJ file use, by their
/// names in the OBJ file. Adds a warning for each missing library or texture, and for materials without a definition. If
/// the libraries that the OBJ file names lack a material, the one that [`Archive::find_mtl`] returns is read, too, because
/// files are often renamed.
pub(super) fn load(
    archive: &mut Archive<'_>,
    referrer: &str,
    obj: &Obj,
    warnings: &mut Warnings,
) -> Result<BTreeMap<String, Material>, ImportError> {
    let mut used: BTreeMap<&str, &str> = BTreeMap::new();
    for name in obj.parts.iter().map(|p| p.material.as_str()) {
        used.entry(text::without_comment(name)).or_insert(name);
    }
    used.extend(obj.parts.iter().map(|p| (p.material.as_str(), p.material.as_str())));
    let mut read_libraries: BTreeSet<String> = BTreeSet::new();
    let mut by_name = BTreeMap::new();
    for line in &obj.libraries {
        for library in libraries(archive, referrer, line) {
            match library {
                Ok(name) if read_libraries.insert(name.clone()) => {
                    read_library(archive, &name, &used, &mut by_name, warnings)?;
                }
                Ok(_duplicate) => {}
                Err(missing) => warnings.add(&format!("the material library '{missing}' is not in the ZIP")),
            }
        }
    }
    used.retain(|_, name| !name.is_empty() && !by_name.contains_key(*name));
    if !used.is_empty()
        && let Some(name) = archive.find_mtl(referrer).filter(|name| !read_libraries.contains(name))
    {
        let known = by_name.len();
        read_library(archive, &name, &used, &mut by_name, warnings)?;
        if by_name.len() > known {
            let name = crate::source::shortened(&name);
            warnings.add(&format!("the material library '{name}' is used, although no mtllib line names it"));
        }
    }
    let mut materials = by_name.into_iter().map(|(name, definition)| (name, definition.material)).collect();
    add_undefined(obj, &mut materials, warnings);
    Ok(materials)
}

/// Reads the definitions of the materials in `used` from the archive entry `name`.
fn read_library(
    archive: &mut Archive<'_>,
    name: &str,
    used: &BTreeMap<&str, &str>,
    by_name: &mut BTreeMap<String, Definition>,
    warnings: &mut Warnings,
) -> Result<(), ImportError> {
    let bytes = archive.read(name)?;
    let mut reader = Reader { archive, referrer: name, used, by_name, warnings };
    reader.library(&text::decode(&bytes));
    Ok(())
}

/// Adds a white material for each name of a material that has no definition, so that settings can refer to it. Adds a
/// warning with the first of these names.
fn add_undefined(obj: &Obj, materials: &mut BTreeMap<String, Material>, warnings: &mut Warnings) {
    let names = obj.parts.iter().map(|part| part.material.as_str());
    let undefined: BTreeSet<&str> = names.filter(|name| !name.is_empty() && !materials.contains_key(*name)).collect();
    if undefined.is_empty() {
        return;
    }
    let quote = |name: &&str| format!("'{}'", crate::source::shortened(name));
    let quoted: Vec<String> = undefined.iter().take(MAX_QUOTED_NAMES).map(quote).collect();
    let ellipsis = if undefined.len() > quoted.len() { ", …" } else { "" };
    let list = quoted.join(", ");
    warnings.add(&format!("no material library defines these materials, so they are white: {list}{ellipsis}"));
    materials.extend(undefined.into_iter().map(|name| (name.to_owned(), Material::default())));
}

/// Parses the arguments of a `mtllib` line. The line contains one name with spaces or several names, and may end in a
/// comment. Returns for each name the name of its entry in the archive, or the name itself as an error if there is no
/// such entry.
fn libraries(archive: &Archive<'_>, referrer: &str, line: &str) -> Vec<Result<String, String>> {
    let uncommented = text::without_comment(line);
    if let Some(found) = [line, uncommented].into_iter().find_map(|name| archive.find_path(referrer, name)) {
        return vec![Ok(found)];
    }
    // The line is split before its end is looked up as a file name in any folder. Otherwise, only the last one of
    // several paths would be found.
    let mut names = Vec::new();
    for text in [uncommented, line] {
        names = split_libraries(archive, referrer, text);
        if names.iter().any(Result::is_ok) {
            return names;
        }
    }
    match [line, uncommented].into_iter().find_map(|name| archive.find(referrer, name)) {
        Some(found) => vec![Ok(found)],
        None if names.is_empty() => vec![Err(crate::source::shortened(text::unquoted(line)))],
        None => names,
    }
}

/// Splits text into names that end in `.mtl`, possibly in quotation marks, and looks up each of them like
/// [`libraries`].
fn split_libraries(archive: &Archive<'_>, referrer: &str, text: &str) -> Vec<Result<String, String>> {
    let mut out = Vec::new();
    let mut partial_name = String::new();
    for word in text.split_whitespace() {
        partial_name = if partial_name.is_empty() { word.to_owned() } else { format!("{partial_name} {word}") };
        if word.trim_end_matches('"').to_ascii_lowercase().ends_with(".mtl") {
            let name = std::mem::take(&mut partial_name);
            out.push(archive.find(referrer, &name).ok_or_else(|| text::unquoted(&name).to_owned()));
        } else if partial_name.len() > MAX_NAME_BYTES {
            break;
        }
    }
    out
}

/// Maximum number of materials that a warning names.
const MAX_QUOTED_NAMES: usize = 3;
/// Maximum length of a name with spaces, in bytes.
const MAX_NAME_BYTES: usize = 1000;

struct Reader<'a, 'z> {
    archive: &'a Archive<'z>,
    referrer: &'a str,
    /// The names of used materials in the OBJ file. The keys are these names with and without a trailing comment.
    used: &'a BTreeMap<&'a str, &'a str>,
    by_name: &'a mut BTreeMap<String, Definition>,
    warnings: &'a mut Warnings,
}

impl Reader<'_, '_> {
    fn library(&mut self, text: &str) {
        let mut current: Option<(String, Definition)> = None;
        for (_, line) in text::logical_lines(text) {
            let (word, rest) = text::keyword(&line);
            if word.eq_ignore_ascii_case("newmtl") {
                self.finish(current.take());
                current = self.used_name(rest).map(|name| {
                    let is_exact = name == rest;
                    (name, Definition { material: Material::default(), is_exact })
                });
            } else if let Some((_, definition)) = &mut current {
                self.statement(&mut definition.material, word, rest);
            }
        }
        self.finish(current);
    }

    /// Returns the name by which the OBJ file refers to the material `name` of an MTL file. The two names may differ by
    /// a trailing comment.
    fn used_name(&self, name: &str) -> Option<String> {
        let found = self.used.get(name).or_else(|| self.used.get(text::without_comment(name)));
        found.map(|name| (*name).to_owned())
    }

    /// Stores the definition of a material. If a material has several definitions, the last one is used, and a
    /// definition with exactly its name is preferred.
    fn finish(&mut self, definition: Option<(String, Definition)>) {
        let Some((name, definition)) = definition else { return };
        let has_exact = self.by_name.get(&name).is_some_and(|known| known.is_exact);
        if definition.is_exact || !has_exact {
            self.by_name.insert(name, definition);
        }
    }

    fn statement(&mut self, material: &mut Material, word: &str, rest: &str) {
        let number = || text::without_comment(rest).split_whitespace().find_map(finite);
        match word.to_ascii_lowercase().as_str() {
            "kd" => material.color = color(rest).unwrap_or(material.color),
            "ke" => material.emissive = emission(rest).unwrap_or(material.emissive),
            "d" => material.alpha = number().map_or(material.alpha, |a| a.clamp(0.0, 1.0)),
            // `Tr` is the transparency, but many exporters write the opacity there. Therefore a completely transparent
            // material is most likely meant to be opaque.
            "tr" => {
                let alpha = number().map(|t| 1.0 - t.clamp(0.0, 1.0)).filter(|alpha| *alpha > 0.0);
                material.alpha = alpha.unwrap_or(material.alpha);
            }
            "map_kd" => material.color_map = self.texture(rest).or(material.color_map.take()),
            "map_d" => material.alpha_map = self.texture(rest).or(material.alpha_map.take()),
            "map_ke" => material.emissive_map = self.texture(rest).or(material.emissive_map.take()),
            "map_bump" | "bump" if !material.is_normal_map => {
                material.bump_map = self.texture(rest).or(material.bump_map.take());
            }
            "norm" | "map_kn" => {
                if let Some(map) = self.texture(rest) {
                    (material.bump_map, material.is_normal_map) = (Some(map), true);
                }
            }
            "map_ks" | "map_ns" | "disp" | "decal" | "map_tr" => {
                self.warnings.add(&format!("{word} is ignored: glTF has no equivalent"));
            }
            "map_pr" | "map_pm" => {
                self.warnings.add(&format!("{word} is ignored: converted materials are rough and not metallic"));
            }
            _ => {}
        }
    }

    fn texture(&mut self, rest: &str) -> Option<TextureUse> {
        // Without a name there is no texture, as in `map_Kd ""`.
        if text::unquoted(rest).is_empty() {
            return None;
        }
        let uncommented = text::without_comment(rest);
        let found = [rest, uncommented].into_iter().map(|text| texture_use(self.archive, self.referrer, text));
        let found = found.reduce(Result::or).unwrap_or_else(|| Err(rest.to_owned()));
        found.map_err(|name| self.warnings.add(&format!("the texture '{name}' is not in the ZIP"))).ok()
    }
}

fn finite(word: &str) -> Option<f32> {
    word.parse().ok().filter(|n: &f32| n.is_finite())
}

/// Parses a colour, and converts it to linear. The colour is assumed to be sRGB, as in other viewers.
fn color(rest: &str) -> Option<[f32; 3]> {
    Some(rgb(rest)?.map(|c| linear_from_srgb(c.clamp(0.0, 1.0))))
}

/// Parses an emitted colour, and converts it to linear. A colour with a component above 1 is the product of a colour,
/// which is assumed to be sRGB, and of a strength, which is linear.
fn emission(rest: &str) -> Option<[f32; 3]> {
    let rgb = rgb(rest)?.map(|c| c.max(0.0));
    let strength = rgb.into_iter().fold(1.0, f32::max);
    Some(rgb.map(|c| linear_from_srgb(c / strength) * strength))
}

/// Parses the components of a colour: three numbers, or one number for a grey.
fn rgb(rest: &str) -> Option<[f32; 3]> {
    let words = text::without_comment(rest).split_whitespace().take(3);
    let numbers: Vec<f32> = words.map(finite).collect::<Option<_>>()?;
    match numbers.as_slice() {
        [grey] => Some([*grey; 3]),
        [r, g, b] => Some([*r, *g, *b]),
        _ => None,
    }
}
