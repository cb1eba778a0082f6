//! Wavefront OBJ.

use super::ImportError;
use crate::limits::Limits;

/// A corner of a face: position, texture coordinate, normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Corner {
    pub(super) position: u32,
    pub(super) uv: Option<u32>,
    pub(super) normal: Option<u32>,
}

/// Faces of one object with one material.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) material: String,
    pub(super) faces: Vec<Vec<Corner>>,
}

/// A parsed file.
#[derive(Debug, Default)]
pub(super) struct Obj {
    pub(super) positions: Vec<[f32; 3]>,
    /// As displayed, 0..=1; as long as `positions` where any vertex has one.
    pub(super) colors: Vec<[f32; 3]>,
    pub(super) uvs: Vec<[f32; 2]>,
    pub(super) normals: Vec<[f32; 3]>,
    pub(super) parts: Vec<Part>,
    /// The arguments of `mtllib`, whole lines.
    pub(super) libraries: Vec<String>,
}

/// Bytes as text: UTF-8, UTF-16 with its mark, or Latin-1.
pub(super) fn decode_text(bytes: &[u8]) -> String {
    let wide = |from: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].as_chunks::<2>().0.iter().map(|b| from(*b)).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xFF, 0xFE, ..] => wide(u16::from_le_bytes),
        [0xFE, 0xFF, ..] => wide(u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => decode_text(rest),
        _ => std::str::from_utf8(bytes)
            .map_or_else(|_latin| bytes.iter().map(|b| char::from(*b)).collect(), str::to_owned),
    }
}

/// Parses a file.
pub(super) fn parse(text: &str, limits: &Limits) -> Result<Obj, ImportError> {
    let mut obj = Obj::default();
    let (mut name, mut material) = (String::new(), String::new());
    let mut corners = 0_u64;
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    for (number, line) in joined.lines().enumerate() {
        let fault = |problem: &str| ImportError::Obj { line: number + 1, problem: problem.to_owned() };
        let line = line.split('#').next().unwrap_or_default().trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let numbers = || floats(rest).ok_or_else(|| fault("a number is not finite or not a number"));
        match word {
            "v" => {
                let v = numbers()?;
                let [x, y, z, extra @ ..] = v.as_slice() else { return Err(fault("a vertex needs three numbers")) };
                obj.positions.push([*x, *y, *z]);
                if let [r, g, b] = extra {
                    obj.colors.resize(obj.positions.len() - 1, [1.0; 3]);
                    obj.colors.push([*r, *g, *b].map(|c| c.clamp(0.0, 1.0)));
                }
            }
            "vt" => {
                let v = numbers()?;
                obj.uvs.push([v.first().copied().unwrap_or(0.0), v.get(1).copied().unwrap_or(0.0)]);
            }
            "vn" => match numbers()?.as_slice() {
                [x, y, z, ..] => obj.normals.push([*x, *y, *z]),
                _ => return Err(fault("a normal needs three numbers")),
            },
            "f" => {
                let face = rest
                    .split_whitespace()
                    .map(|c| corner(c, &obj).ok_or_else(|| fault("a face names a vertex that does not exist")))
                    .collect::<Result<Vec<_>, _>>()?;
                corners += face.len() as u64;
                if corners > limits.indices || obj.positions.len() as u64 > limits.vertices {
                    return Err(fault("the model is too large"));
                }
                if face.len() < 3 {
                    continue;
                }
                if obj.parts.last().is_none_or(|p| p.name != name || p.material != material) {
                    obj.parts.push(Part { name: name.clone(), material: material.clone(), faces: Vec::new() });
                }
                if let Some(part) = obj.parts.last_mut() {
                    part.faces.push(face);
                }
            }
            "o" | "g" => rest.trim().clone_into(&mut name),
            "usemtl" => rest.trim().clone_into(&mut material),
            "mtllib" => obj.libraries.push(rest.trim().to_owned()),
            _ => {}
        }
    }
    if obj.parts.is_empty() {
        return Err(ImportError::NoFaces);
    }
    if !obj.colors.is_empty() {
        obj.colors.resize(obj.positions.len(), [1.0; 3]);
    }
    Ok(obj)
}

fn floats(text: &str) -> Option<Vec<f32>> {
    text.split_whitespace().map(|t| t.parse::<f32>().ok().filter(|v| v.is_finite())).collect()
}

fn corner(text: &str, obj: &Obj) -> Option<Corner> {
    let mut parts = text.split('/');
    let index = |part: Option<&str>, count: usize| match part {
        None | Some("") => Some(None),
        Some(text) => resolve(text.parse().ok()?, count).map(Some),
    };
    let position = index(parts.next(), obj.positions.len())??;
    // A texture coordinate or normal that is not there is left out.
    let uv = index(parts.next(), obj.uvs.len()).unwrap_or(None);
    let normal = index(parts.next(), obj.normals.len()).unwrap_or(None);
    Some(Corner { position, uv, normal })
}

/// Counts from 1, or from the end for negative numbers.
fn resolve(index: i64, count: usize) -> Option<u32> {
    let count = i64::try_from(count).ok()?;
    let at = if index > 0 { index - 1 } else { count + index };
    (index != 0 && (0..count).contains(&at)).then(|| u32::try_from(at).ok()).flatten()
}
