//! KHR_draco_mesh_compression.

use std::collections::BTreeMap;

use draco_core::{DecodeLimits, DecoderBuffer, FaceIndex, Mesh, MeshDecoder};

use crate::error::{ModelError, Result};
use crate::json::DracoPrimitive;
use crate::limits::check;
use crate::source::{Source, shortened};

/// What decoding takes for a face in tables that are gone afterwards.
const TABLE_BYTES_PER_FACE: u64 = 64;

/// Decoded data of a compressed primitive.
pub(crate) struct Decoded {
    pub(crate) indices: Vec<u32>,
    pub(crate) points: usize,
    mesh: Mesh,
    ids: BTreeMap<String, u32>,
}

/// Decodes a primitive's geometry.
pub(crate) fn decode(source: &Source<'_>, place: &str, packed: &DracoPrimitive) -> Result<Decoded> {
    let fault = |problem: &str| ModelError::invalid(place, format!("Draco data: {problem}"));
    let (bytes, _) = source.view(place, packed.buffer_view)?;
    // The decoder compares these with what the data declare, before it takes memory.
    let left = source.budget.left_bytes();
    let limits = DecodeLimits::default()
        .with_max_points(source.limits.vertices)
        .with_max_faces((source.limits.indices / 3).min(left / TABLE_BYTES_PER_FACE))
        .with_max_decoded_bytes(left);
    let mut mesh = Mesh::new();
    MeshDecoder::new()
        .decode(&mut DecoderBuffer::new(bytes).with_limits(limits), &mut mesh)
        .map_err(|cause| fault(&format!("it cannot be decoded: {}", shortened(&cause.to_string()))))?;
    let points = mesh.num_points();
    check("vertices", points as u64, source.limits.vertices)?;
    source.budget.take_bytes(mesh.num_faces() as u64 * TABLE_BYTES_PER_FACE)?;
    let faces = u32::try_from(mesh.num_faces()).map_err(|_wide| fault("too many faces"))?;
    let indices: Vec<u32> = (0..faces).flat_map(|f| mesh.face(FaceIndex(f)).map(|p| p.0)).collect();
    if indices.iter().any(|i| *i as usize >= points) {
        return Err(fault("a face names a vertex that does not exist"));
    }
    Ok(Decoded { indices, points, mesh, ids: packed.attributes.clone() })
}

impl Decoded {
    /// The values of an attribute as floats with `width` components a vertex, divided by `scale`; `None` where it is
    /// not part of the compressed data.
    pub(crate) fn floats(&self, name: &str, width: usize, scale: f32) -> Option<Vec<f32>> {
        let attribute = self.mesh.attribute_by_unique_id(*self.ids.get(name)?)?;
        let have = usize::from(attribute.num_components());
        let values = attribute.read_f32s(self.points, have);
        if values.len() != self.points * have {
            return None;
        }
        Some(
            values
                .chunks_exact(have.max(1))
                .flat_map(|v| (0..width).map(|c| v.get(c).map_or(1.0, |x| x / scale)))
                .collect(),
        )
    }

    /// Number of components of an attribute.
    pub(crate) fn components(&self, name: &str) -> Option<usize> {
        Some(usize::from(self.mesh.attribute_by_unique_id(*self.ids.get(name)?)?.num_components()))
    }
}
