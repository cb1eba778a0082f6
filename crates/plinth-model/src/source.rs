//! A parsed glTF document with its buffers. All decoders read their data from a [`Source`].

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;

use crate::error::{ModelError, Result};
use crate::json::{BufferView, Root, check_size, read_repaired};
use crate::limits::{Budget, Limits, check};
use crate::warnings::Warnings;
use crate::{container, meshopt};

/// Names of the supported extensions, and of extensions that can be ignored, because files are usable without them.
const KNOWN_EXTENSIONS: &[&str] = &[
    "EXT_mesh_gpu_instancing",
    "EXT_meshopt_compression",
    "EXT_texture_webp",
    "KHR_draco_mesh_compression",
    "KHR_lights_punctual",
    "KHR_materials_anisotropy",
    "KHR_materials_clearcoat",
    "KHR_materials_diffuse_transmission",
    "KHR_materials_dispersion",
    "KHR_materials_emissive_strength",
    "KHR_materials_ior",
    "KHR_materials_iridescence",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_sheen",
    "KHR_materials_specular",
    "KHR_materials_transmission",
    "KHR_materials_unlit",
    "KHR_materials_variants",
    "KHR_materials_volume",
    "KHR_mesh_quantization",
    "KHR_meshopt_compression",
    "KHR_node_visibility",
    "KHR_texture_basisu",
    "KHR_texture_transform",
];

/// The document and its binary data.
pub(crate) struct Source<'a> {
    pub(crate) root: Root,
    pub(crate) limits: Limits,
    pub(crate) budget: Budget,
    warnings: Mutex<Warnings>,
    buffers: Vec<Option<Cow<'a, [u8]>>>,
    /// Decompressed bytes of the compressed buffer views; `None` for all other buffer views.
    unpacked: Vec<Option<Vec<u8>>>,
}

impl<'a> Source<'a> {
    /// Parses a GLB file, and locates the data of its buffers.
    pub(crate) fn open(bytes: &'a [u8], limits: Limits) -> Result<Self> {
        check("bytes", bytes.len() as u64, limits.bytes)?;
        let container = container::read(bytes)?;
        let budget = Budget::new(limits.decoded_bytes);
        let mut warnings = Warnings::default();
        let text = json_text(container.json, &budget, &mut warnings)?;
        // A byte order mark is not part of the JSON text, so it is removed. So are zeros at the end, with which some
        // exporters fill the chunk instead of spaces.
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text).trim_end_matches('\0');
        check_size(text, limits, &budget)?;
        let root = parse(text, &budget, &mut warnings)?;
        check_asset(&root)?;
        let mut buffers = Vec::with_capacity(root.buffers.len());
        for (i, buffer) in root.buffers.iter().enumerate() {
            buffers.push(resolve_buffer(i, buffer, container.bin, &budget)?);
        }
        let warnings = Mutex::new(warnings);
        let mut source = Self { unpacked: Vec::new(), root, limits, budget, warnings, buffers };
        source.unpack()?;
        Ok(source)
    }

    fn unpack(&mut self) -> Result<()> {
        let mut unpacked = Vec::with_capacity(self.root.buffer_views.len());
        for (i, view) in self.root.buffer_views.iter().enumerate() {
            let Some(packed) = view.meshopt() else {
                unpacked.push(None);
                continue;
            };
            let location = format!("bufferViews[{i}]");
            let data = self.slice(&location, packed.buffer, packed.byte_offset, packed.byte_length)?;
            self.budget.take_bytes(packed.count.saturating_mul(packed.byte_stride))?;
            unpacked.push(Some(meshopt::unpack(&location, packed, data)?));
        }
        self.unpacked = unpacked;
        Ok(())
    }

    /// Adds a warning about data that was ignored or repaired.
    pub(crate) fn warn(&self, warning: &str) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).add(warning);
    }

    /// Removes and returns all warnings that were added so far.
    pub(crate) fn take_warnings(&self) -> Warnings {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns `length` bytes of a buffer, starting at `offset`.
    fn slice(&self, location: &str, buffer: usize, offset: u64, length: u64) -> Result<&[u8]> {
        let bytes = self
            .buffers
            .get(buffer)
            .ok_or_else(|| ModelError::invalid(location, format!("buffer {buffer} does not exist")))?
            .as_deref()
            .ok_or_else(|| ModelError::invalid(location, format!("buffer {buffer} has no data")))?;
        let end = offset.checked_add(length);
        end.filter(|end| *end <= bytes.len() as u64)
            .and_then(|end| bytes.get(usize::try_from(offset).ok()?..usize::try_from(end).ok()?))
            .ok_or_else(|| {
                ModelError::invalid(
                    location,
                    format!("bytes {offset}+{length} are beyond buffer {buffer} of {} bytes", bytes.len()),
                )
            })
    }

    /// Returns the bytes of a buffer view, decompressed if necessary, and its description.
    pub(crate) fn view(&self, location: &str, index: usize) -> Result<(&[u8], &BufferView)> {
        let view: &BufferView = self
            .root
            .buffer_views
            .get(index)
            .ok_or_else(|| ModelError::invalid(location, format!("bufferView {index} does not exist")))?;
        if let Some(Some(bytes)) = self.unpacked.get(index) {
            return Ok((bytes, view));
        }
        let bytes = self.slice(&format!("bufferViews[{index}]"), view.buffer, view.byte_offset, view.byte_length)?;
        Ok((bytes, view))
    }
}

/// Returns the text of the JSON chunk. Bytes that are not UTF-8 become U+FFFD, because they occur only in names in
/// practice.
fn json_text<'a>(json: &'a [u8], budget: &Budget, warnings: &mut Warnings) -> Result<Cow<'a, str>> {
    match std::str::from_utf8(json) {
        Ok(text) => Ok(Cow::Borrowed(text)),
        Err(error) => {
            // U+FFFD takes three bytes.
            budget.take_bytes((json.len() as u64).saturating_mul(3))?;
            let position = error.valid_up_to();
            warnings.add(&format!("the glTF JSON is not UTF-8 at byte {position}; such bytes are read as '\u{FFFD}'"));
            Ok(String::from_utf8_lossy(json))
        }
    }
}

fn parse(text: &str, budget: &Budget, warnings: &mut Warnings) -> Result<Root> {
    match serde_json::from_str(text) {
        Ok(root) => Ok(root),
        Err(error) => {
            read_repaired(text, budget, warnings).ok_or_else(|| ModelError::Json { problem: error.to_string() })
        }
    }
}

fn check_asset(root: &Root) -> Result<()> {
    let asset = root
        .asset
        .as_ref()
        .ok_or_else(|| ModelError::invalid("asset", "there is no asset object, so the glTF version is unknown"))?;
    if asset.version.split('.').next() != Some("2") {
        return Err(ModelError::invalid(
            "asset",
            format!("version '{}'; only 2.x is known", shortened(&asset.version)),
        ));
    }
    for name in &root.extensions_required {
        if !KNOWN_EXTENSIONS.contains(&name.as_str()) {
            return Err(ModelError::UnsupportedExtension { name: shortened(name) });
        }
    }
    Ok(())
}

/// Maximum length of the name of a node, a material or an animation clip in the model, in characters. Longer names in
/// the file are truncated.
pub const NAME_CHARS: usize = 256;

/// Truncates a name in a file to [`NAME_CHARS`] characters.
pub fn cut_name(name: &str) -> &str {
    let end = name.char_indices().nth(NAME_CHARS).map(|(end, _)| end);
    end.and_then(|end| name.get(..end)).unwrap_or(name)
}

/// Returns the name in a file unless it is empty, because an empty name selects nothing.
pub(crate) fn given_name(name: Option<&str>) -> Option<&str> {
    name.filter(|name| !name.is_empty())
}

/// Truncates a text from the file to 80 characters, so that a message can quote it.
pub(crate) fn shortened(text: &str) -> String {
    if text.chars().count() <= 80 { text.to_owned() } else { text.chars().take(79).chain(['…']).collect() }
}

/// Returns the data of a buffer. Returns `None` for fallback buffers, which are only for readers without support for
/// meshopt compression. A buffer without data is a fallback buffer, even if it is not marked as one.
fn resolve_buffer<'a>(
    index: usize,
    buffer: &crate::json::Buffer,
    bin: Option<&'a [u8]>,
    budget: &Budget,
) -> Result<Option<Cow<'a, [u8]>>> {
    let location = format!("buffers[{index}]");
    if [&buffer.extensions.meshopt, &buffer.extensions.older_meshopt].into_iter().flatten().any(|e| e.fallback) {
        return Ok(None);
    }
    let bytes: Cow<'a, [u8]> = match &buffer.uri {
        Some(uri) => {
            budget.take_bytes(uri.len() as u64)?;
            Cow::Owned(data_uri(&location, uri)?)
        }
        None if index == 0 => {
            Cow::Borrowed(bin.ok_or_else(|| ModelError::invalid(location.as_str(), "there is no binary chunk"))?)
        }
        None => return Ok(None),
    };
    if buffer.byte_length > bytes.len() as u64 {
        return Err(ModelError::invalid(
            location,
            format!("byteLength is {} but only {} bytes are there", buffer.byte_length, bytes.len()),
        ));
    }
    Ok(Some(bytes))
}

/// Decodes a `data:` URI. Returns an error for all other URIs.
pub(crate) fn data_uri(location: &str, uri: &str) -> Result<Vec<u8>> {
    let Some(rest) = uri.strip_prefix("data:") else {
        return Err(ModelError::External { location: location.to_owned(), uri: shortened(uri) });
    };
    let Some((kind, data)) = rest.split_once(',') else {
        return Err(ModelError::invalid(location, "the data URI has no data"));
    };
    if !kind.ends_with(";base64") {
        return Err(ModelError::invalid(location, "the data URI is not base64"));
    }
    base64::engine::general_purpose::STANDARD
        .decode(data.trim_end_matches('='))
        .or_else(|_padded| base64::engine::general_purpose::STANDARD_NO_PAD.decode(data.trim_end_matches('=')))
        .map_err(|e| ModelError::invalid(location, format!("the data URI is not valid base64: {e}")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::KNOWN_EXTENSIONS;

    /// The accepted extensions are those that the JSON structs read, and those that need no data.
    #[test]
    fn known_extensions_are_those_of_the_json_structs() {
        let files = [
            include_str!("json/document.rs"),
            include_str!("json/extensions.rs"),
            include_str!("json/material_extensions.rs"),
        ];
        let is_extension = |name: &&str| ["EXT_", "KHR_"].iter().any(|prefix| name.starts_with(prefix));
        let quoted = files.iter().flat_map(|file| file.split('"').skip(1).step_by(2));
        let read: BTreeSet<&str> = quoted.filter(is_extension).collect();
        let without_data = ["KHR_materials_variants", "KHR_mesh_quantization"];
        let expected: BTreeSet<&str> = read.into_iter().chain(without_data).collect();
        assert_eq!(KNOWN_EXTENSIONS.iter().copied().collect::<BTreeSet<_>>(), expected);
    }
}
