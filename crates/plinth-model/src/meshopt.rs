//! EXT_meshopt_compression and KHR_meshopt_compression: buffer views packed by meshoptimizer.
#![expect(unsafe_code, reason = "the crate's safe functions fix the stride at compile time; files choose it")]

use crate::error::{ModelError, Result};
use crate::json::MeshoptView;

/// Unpacks one buffer view to `count × byteStride` bytes.
pub(crate) fn unpack(place: &str, view: &MeshoptView, data: &[u8]) -> Result<Vec<u8>> {
    let fault = |problem: &str| ModelError::invalid(place, format!("meshopt data: {problem}"));
    let (Ok(count), Ok(stride)) = (usize::try_from(view.count), usize::try_from(view.byte_stride)) else {
        return Err(fault("count or stride is too large"));
    };
    let valid = match view.mode.as_str() {
        "ATTRIBUTES" => stride > 0 && stride <= 256 && stride.is_multiple_of(4),
        "TRIANGLES" => (stride == 2 || stride == 4) && count.is_multiple_of(3),
        "INDICES" => stride == 2 || stride == 4,
        other => return Err(fault(&format!("unknown mode '{}'", crate::source::shortened(other)))),
    };
    if !valid {
        return Err(fault("count or stride does not fit the mode"));
    }
    let size = count.checked_mul(stride).ok_or_else(|| fault("count times stride overflows"))?;
    // The codecs need at least one byte for 256 elements or so: a tiny input cannot claim gigabytes.
    if size / 16_384 > data.len() {
        return Err(fault("more elements than the data can hold"));
    }
    let mut out = vec![0_u8; size];
    let target = out.as_mut_ptr().cast();
    // SAFETY: `out` holds `count * stride` bytes and `data` is a valid slice; the decoders check all of their input
    // and write `count` elements of `stride` bytes, having validated mode, count and stride above.
    let code = unsafe {
        match view.mode.as_str() {
            "ATTRIBUTES" => meshopt::ffi::meshopt_decodeVertexBuffer(target, count, stride, data.as_ptr(), data.len()),
            "TRIANGLES" => meshopt::ffi::meshopt_decodeIndexBuffer(target, count, stride, data.as_ptr(), data.len()),
            _ => meshopt::ffi::meshopt_decodeIndexSequence(target, count, stride, data.as_ptr(), data.len()),
        }
    };
    if code != 0 {
        return Err(fault("it cannot be decoded"));
    }
    filter(view, &mut out, count, stride, fault)?;
    Ok(out)
}

fn filter(
    view: &MeshoptView,
    out: &mut [u8],
    count: usize,
    stride: usize,
    fault: impl Fn(&str) -> ModelError,
) -> Result<()> {
    let name = view.filter.as_deref().unwrap_or("NONE");
    let valid = match name {
        "NONE" => return Ok(()),
        "OCTAHEDRAL" | "COLOR" => stride == 4 || stride == 8,
        "QUATERNION" => stride == 8,
        "EXPONENTIAL" => stride.is_multiple_of(4),
        other => return Err(fault(&format!("unknown filter '{}'", crate::source::shortened(other)))),
    };
    if !valid || view.mode != "ATTRIBUTES" {
        return Err(fault("the filter does not fit the stride"));
    }
    let target = out.as_mut_ptr().cast();
    // SAFETY: `out` holds `count * stride` bytes and the stride is one that the filter accepts.
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
