//! Decompresses buffer views that are compressed with EXT_meshopt_compression or KHR_meshopt_compression.
#![expect(unsafe_code, reason = "the safe functions of the crate need the stride at compile time, but files choose it")]

use crate::error::{ModelError, Result};
use crate::json::MeshoptView;

/// Decompresses one buffer view to `count × byteStride` bytes.
pub(crate) fn unpack(location: &str, view: &MeshoptView, data: &[u8]) -> Result<Vec<u8>> {
    let invalid = |problem: &str| ModelError::invalid(location, format!("meshopt data: {problem}"));
    let (Ok(count), Ok(stride)) = (usize::try_from(view.count), usize::try_from(view.byte_stride)) else {
        return Err(invalid("count or stride is too large"));
    };
    let valid = match view.mode.as_str() {
        "ATTRIBUTES" => stride > 0 && stride <= 256 && stride.is_multiple_of(4),
        "TRIANGLES" => (stride == 2 || stride == 4) && count.is_multiple_of(3),
        "INDICES" => stride == 2 || stride == 4,
        other => return Err(invalid(&format!("unknown mode '{}'", crate::source::shortened(other)))),
    };
    if !valid {
        return Err(invalid("count or stride does not fit the mode"));
    }
    let size = count.checked_mul(stride).ok_or_else(|| invalid("count times stride overflows"))?;
    // Even at the best compression, 256 elements take about one byte. This check rejects small inputs that claim to
    // contain gigabytes.
    if size / 16_384 > data.len() {
        return Err(invalid("more elements than the data can hold"));
    }
    let mut out = vec![0_u8; size];
    let target = out.as_mut_ptr().cast();
    // SAFETY: `out` holds `count * stride` bytes, and `data` is a valid slice. The mode, the count and the stride were
    // validated above. The decoders check all of their input, and write exactly `count` elements of `stride` bytes.
    let code = unsafe {
        match view.mode.as_str() {
            "ATTRIBUTES" => meshopt::ffi::meshopt_decodeVertexBuffer(target, count, stride, data.as_ptr(), data.len()),
            "TRIANGLES" => meshopt::ffi::meshopt_decodeIndexBuffer(target, count, stride, data.as_ptr(), data.len()),
            _ => meshopt::ffi::meshopt_decodeIndexSequence(target, count, stride, data.as_ptr(), data.len()),
        }
    };
    if code != 0 {
        return Err(invalid("it cannot be decoded"));
    }
    filter(view, &mut out, count, stride, invalid)?;
    Ok(out)
}

fn filter(
    view: &MeshoptView,
    out: &mut [u8],
    count: usize,
    stride: usize,
    invalid: impl Fn(&str) -> ModelError,
) -> Result<()> {
    let name = view.filter.as_deref().unwrap_or("NONE");
    let valid = match name {
        "NONE" => return Ok(()),
        "OCTAHEDRAL" | "COLOR" => stride == 4 || stride == 8,
        "QUATERNION" => stride == 8,
        "EXPONENTIAL" => stride.is_multiple_of(4),
        other => return Err(invalid(&format!("unknown filter '{}'", crate::source::shortened(other)))),
    };
    if !valid || view.mode != "ATTRIBUTES" {
        return Err(invalid("the filter does not fit the stride"));
    }
    let target = out.as_mut_ptr().cast();
    // SAFETY: `out` holds `count * stride` bytes, and the filter accepts the stride, which was checked above.
    unsafe {
        match name {
            "OCTAHEDRAL" => meshopt::ffi::meshopt_decodeFilterOct(target, count, stride),
            "QUATERNION" => meshopt::ffi::meshopt_decodeFilterQuat(target, count, stride),
            "EXPONENTIAL" => meshopt::ffi::meshopt_decodeFilterExp(target, count, stride),
            _ => meshopt::ffi::meshopt_decodeFilterColor(target, count, stride),
        }
    }
    Ok(())
}
