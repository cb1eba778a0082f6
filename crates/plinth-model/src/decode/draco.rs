//! Decodes geometry that is compressed with KHR_draco_mesh_compression.

use std::collections::BTreeMap;

use draco_core::{DecodeLimits, DecoderBuffer, FaceIndex, Mesh, MeshDecoder};

use crate::error::{ModelError, Result};
use crate::json::DracoPrimitive;
use crate::limits::check;
use crate::source::{Source, shortened};

/// Estimated temporary memory of the decoder per face, in bytes.
const DECODER_BYTES_PER_FACE: u64 = 64;

/// The decoded geometry of a primitive.
pub(crate) struct Decoded {
    pub(crate) indices: Vec<u32>,
    pub(crate) points: usize,
    mesh: Mesh,
    ids: BTreeMap<String, u32>,
}

/// Decodes the geometry of a primitive.
pub(crate) fn decode(source: &Source<'_>, location: &str, packed: &DracoPrimitive) -> Result<Decoded> {
    let invalid = |problem: &str| ModelError::invalid(location, format!("Draco data: {problem}"));
    let (bytes, _) = source.view(location, packed.buffer_view)?;
    // The decoder compares these limits with the sizes that the data declares before it allocates memory.
    let remaining = source.budget.remaining_bytes();
    let limits = DecodeLimits::default()
        .with_max_points(source.limits.vertices)
        .with_max_faces((source.limits.indices / 3).min(remaining / DECODER_BYTES_PER_FACE))
        .with_max_decoded_bytes(remaining);
    let mut mesh = Mesh::new();
    MeshDecoder::new()
        .decode(&mut DecoderBuffer::new(bytes).with_limits(limits), &mut mesh)
        .map_err(|cause| invalid(&format!("it cannot be decoded: {}", shortened(&cause.to_string()))))?;
    let points = mesh.num_points();
    check("vertices", points as u64, source.limits.vertices)?;
    source.budget.take_bytes(mesh.num_faces() as u64 * DECODER_BYTES_PER_FACE)?;
    let faces = u32::try_from(mesh.num_faces()).map_err(|_wide| invalid("too many faces"))?;
    let indices: Vec<u32> = (0..faces).flat_map(|f| mesh.face(FaceIndex(f)).map(|p| p.0)).collect();
    if indices.iter().any(|i| *i as usize >= points) {
        return Err(invalid("a face refers to a vertex that does not exist"));
    }
    Ok(Decoded { indices, points, mesh, ids: packed.attributes.clone() })
}

impl Decoded {
    /// Returns the values of an attribute as floats, divided by `scale`, with `width` components per vertex. Components
    /// that the attribute does not have are set to 1. Returns `None` if the compressed data does not contain the
    /// attribute.
    pub(crate) fn floats(&self, name: &str, width: usize, scale: f32) -> Option<Vec<f32>> {
        let attribute = self.mesh.attribute_by_unique_id(*self.ids.get(name)?)?;
        let components = usize::from(attribute.num_components());
        let values = attribute.read_f32s(self.points, components);
        if values.len() != self.points * components {
            return None;
        }
        Some(
            values
                .chunks_exact(components.max(1))
                .flat_map(|v| (0..width).map(|c| v.get(c).map_or(1.0, |x| x / scale)))
                .collect(),
        )
    }

    /// Returns the number of components of an attribute.
    pub(crate) fn components(&self, name: &str) -> Option<usize> {
        Some(usize::from(self.mesh.attribute_by_unique_id(*self.ids.get(name)?)?.num_components()))
    }
}
