//! Parses Wavefront OBJ files.

use std::collections::HashMap;

use super::polygon::Triangulator;
use super::{ImportError, text};
use crate::limits::{Budget, Limits};

/// A corner of a face, line or point: the indices of its position, texture coordinate and normal. `uv` and `normal` may
/// be [`NONE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Corner {
    pub(super) position: u32,
    pub(super) uv: u32,
    pub(super) normal: u32,
}

/// Index of a corner that has no texture coordinate or no normal.
pub(super) const NONE: u32 = u32::MAX;

/// How a face without normals is shaded (statement `s`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Smoothing {
    /// The file has no `s` statement before the face. An edge is smooth if the angle between its two faces is small.
    #[default]
    ByAngle,
    /// `s off`: the face is shaded flat.
    Off,
    /// `s n`: edges between faces of the same group n are smooth.
    Group(u32),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Triangle {
    pub(super) corners: [Corner; 3],
    pub(super) smoothing: Smoothing,
}

/// The faces, lines and points of one object that have the same material.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) material: String,
    pub(super) triangles: Vec<Triangle>,
    /// Points (statement `p`), with one corner each.
    pub(super) points: Vec<Corner>,
    /// Line segments (statement `l`), with two corners each.
    pub(super) lines: Vec<Corner>,
}

/// A parsed OBJ file.
#[derive(Debug, Default)]
pub(super) struct Obj {
    /// Positions relative to `origin`.
    pub(super) positions: Vec<[f32; 3]>,
    /// The point of the file's coordinates from which positions are measured: along each axis, 0 or, if the first corner
    /// of the first element is far from 0, its coordinate. Single precision is too coarse for the distances of vertices
    /// with geographic coordinates.
    pub(super) origin: [f32; 3],
    /// sRGB-encoded vertex colours in 0..=1. Has the same length as `positions`, or is empty if no vertex has a colour.
    pub(super) colors: Vec<[f32; 3]>,
    pub(super) uvs: Vec<[f32; 2]>,
    pub(super) normals: Vec<[f32; 3]>,
    /// One part for each pair of object name and material. The parts are sorted by the position of their first element
    /// in the file.
    pub(super) parts: Vec<Part>,
    /// The arguments of all `mtllib` lines.
    pub(super) libraries: Vec<String>,
    /// Number of polygons that could not be triangulated exactly and became triangle fans.
    pub(super) fanned_polygons: usize,
    /// Number of normals and texture coordinates that are not finite.
    pub(super) not_finite: usize,
    /// Number of free-form curves and surfaces (statements `curv` and `surf`), which are not read.
    pub(super) free_form: usize,
}

/// Parses an OBJ file.
pub(super) fn parse(text: &str, limits: &Limits, budget: &Budget) -> Result<Obj, ImportError> {
    let mut reader = Reader { obj: Obj::default(), limits, budget, state: State::default() };
    for (number, line) in text::logical_lines(text) {
        reader.line(&line).map_err(|problem| ImportError::Obj { line: number, problem })?;
    }
    reader.place_polypaint().map_err(|problem| ImportError::Obj { line: text.lines().count(), problem })?;
    let State { triangulator, polypaint, .. } = reader.state;
    let mut obj = reader.obj;
    if obj.parts.iter().all(|part| part.triangles.is_empty()) {
        return Err(if obj.free_form > 0 { ImportError::FreeForm } else { ImportError::NoFaces });
    }
    if obj.colors.is_empty() {
        obj.colors = polypaint;
    }
    if !obj.colors.is_empty() {
        obj.colors.resize(obj.positions.len(), [1.0; 3]);
    }
    obj.fanned_polygons = triangulator.fanned_polygons;
    Ok(obj)
}

struct Reader<'a> {
    obj: Obj,
    limits: &'a Limits,
    budget: &'a Budget,
    state: State,
}

/// State of the parser that depends on the lines that were already read.
#[derive(Default)]
struct State {
    name: String,
    material: String,
    smoothing: Smoothing,
    /// Whether a vertex so far has shown that the four numbers after positions are a colour and an opacity.
    color_is_before_opacity: bool,
    /// Colours of the first vertices from `#MRGB` lines. They are used if no vertex line has a colour.
    polypaint: Vec<[f32; 3]>,
    /// Colours of the `#MRGB` lines since the last vertex line.
    polypaint_block: Vec<[f32; 3]>,
    /// Positions in the file's coordinates until the first element determines the origin, empty afterwards.
    exact_positions: Vec<[f64; 3]>,
    has_origin: bool,
    /// Index of the current part. `None` if no element has been read since `name` or `material` last changed.
    part: Option<usize>,
    parts: HashMap<(String, String), usize>,
    /// Number of triangles, points and line segments so far.
    elements: u64,
    /// Corners of the element that is being parsed.
    face: Vec<Corner>,
    triangulator: Triangulator,
}

impl Reader<'_> {
    /// Returns a vector, or zeros if the vector is not finite. Many exporters write such vectors for degenerate faces.
    fn finite_or_zero<const N: usize>(&mut self, vector: [f32; N]) -> [f32; N] {
        if vector.iter().all(|v| v.is_finite()) {
            return vector;
        }
        self.obj.not_finite += 1;
        [0.0; N]
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let (word, rest) = text::keyword(line);
        let too_large = |e: crate::ModelError| e.to_string();
        match word {
            "v" => {
                self.place_polypaint()?;
                self.vertex(rest)?;
            }
            "#MRGB" => self.polypaint(rest)?,
            "vt" => {
                let v = numbers(rest)?;
                self.budget.take::<[f32; 2]>(1).map_err(too_large)?;
                let uv = [v.first(), v.get(1)].map(|c| c.map_or(0.0, |c| *c as f32));
                let uv = self.finite_or_zero(uv);
                self.obj.uvs.push(uv);
            }
            "vn" => {
                let v = numbers(rest)?;
                let [x, y, z, ..] = v.as_slice() else { return Err("a normal needs three numbers".to_owned()) };
                self.budget.take::<[f32; 3]>(1).map_err(too_large)?;
                // A normal of length zero counts as missing.
                let normal = self.finite_or_zero([*x, *y, *z].map(|c| c as f32));
                self.obj.normals.push(normal);
            }
            "f" => self.face(text::without_comment(rest))?,
            "p" => self.points(text::without_comment(rest))?,
            "l" => self.line_strip(text::without_comment(rest))?,
            "curv" | "surf" => self.obj.free_form += 1,
            "s" => {
                self.state.smoothing = match text::without_comment(rest) {
                    "off" | "0" => Smoothing::Off,
                    group => group.parse().map_or(self.state.smoothing, Smoothing::Group),
                }
            }
            // A `#` does not start a comment here, because some programs write it in the names of materials.
            "o" | "g" | "usemtl" => {
                if rest.len() > MAX_NAME_BYTES {
                    return Err(format!("a name is longer than {MAX_NAME_BYTES} bytes"));
                }
                let set = if word == "usemtl" { &mut self.state.material } else { &mut self.state.name };
                rest.clone_into(set);
                self.state.part = None;
            }
            "mtllib" if !self.obj.libraries.iter().any(|l| l == rest) => {
                if self.obj.libraries.len() == MAX_LIBRARIES {
                    return Err(format!("there are more than {MAX_LIBRARIES} material libraries"));
                }
                self.obj.libraries.push(rest.to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    /// Parses a vertex: a position, possibly with a weight, which is ignored, and a colour.
    fn vertex(&mut self, rest: &str) -> Result<(), String> {
        let too_large = |e: crate::ModelError| e.to_string();
        let v = numbers(rest)?;
        // The numbers become single-precision numbers, which are infinite from 3.4e38 on.
        if v.iter().any(|c| !(*c as f32).is_finite()) {
            return Err(NO_NUMBER.to_owned());
        }
        let [x, y, z, extra @ ..] = v.as_slice() else { return Err("a vertex needs three numbers".to_owned()) };
        self.budget.take::<[f32; 3]>(1).map_err(too_large)?;
        self.add_position([*x, *y, *z])?;
        if let [first, _, _, _] = extra {
            // Four numbers are a weight and a colour, or a colour and an opacity. Weights of polygons are always 1.
            if (first - 1.0).abs() > 0.0 && !std::mem::replace(&mut self.state.color_is_before_opacity, true) {
                // The red of the colours so far was 1, and was read as a weight.
                self.obj.colors.iter_mut().for_each(|color| *color = [1.0, color[0], color[1]]);
            }
        }
        let color = match extra {
            [r, g, b, _] if self.state.color_is_before_opacity => [*r, *g, *b],
            [r, g, b] | [_, r, g, b] => [*r, *g, *b],
            _ => return Ok(()),
        };
        self.budget.take::<[f32; 3]>(1).map_err(too_large)?;
        self.obj.colors.resize(self.obj.positions.len() - 1, [1.0; 3]);
        self.obj.colors.push(color.map(|c| c.clamp(0.0, 1.0) as f32));
        Ok(())
    }

    /// Parses vertex colours in the format of ZBrush: eight hexadecimal digits for each vertex. A line with other text is
    /// a comment.
    fn polypaint(&mut self, digits: &str) -> Result<(), String> {
        let (entries, []) = digits.as_bytes().as_chunks::<8>() else { return Ok(()) };
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Ok(());
        }
        self.budget.take::<[f32; 3]>(entries.len()).map_err(|e| e.to_string())?;
        self.state.polypaint_block.extend(entries.iter().map(|entry| polypaint_color(*entry)));
        Ok(())
    }

    /// Gives the colours of a block of `#MRGB` lines to the last vertices before it. Vertices without such colours are white.
    fn place_polypaint(&mut self) -> Result<(), String> {
        let block = std::mem::take(&mut self.state.polypaint_block);
        if block.is_empty() {
            return Ok(());
        }
        let first = self.obj.positions.len().saturating_sub(block.len());
        let colors = &mut self.state.polypaint;
        self.budget.take::<[f32; 3]>(first.saturating_sub(colors.len())).map_err(|e| e.to_string())?;
        colors.resize(first, [1.0; 3]);
        colors.extend(block);
        Ok(())
    }

    fn add_position(&mut self, position: [f64; 3]) -> Result<(), String> {
        if !self.state.has_origin {
            self.budget.take::<[f64; 3]>(1).map_err(|e| e.to_string())?;
            self.state.exact_positions.push(position);
        }
        self.obj.positions.push(relative_to(self.obj.origin, position));
        Ok(())
    }

    /// Moves the origin to the first corner of the first element. Vertices before it may not belong to any element.
    fn choose_origin(&mut self) {
        let Some(first) = self.state.face.first().map(|corner| corner.position as usize) else { return };
        if std::mem::replace(&mut self.state.has_origin, true) {
            return;
        }
        let positions = std::mem::take(&mut self.state.exact_positions);
        let origin = positions[first].map(|c| if FAR.contains(&c.abs()) { c as f32 } else { 0.0 });
        if origin.iter().any(|c| *c != 0.0) {
            self.obj.origin = origin;
            self.obj.positions = positions.into_iter().map(|position| relative_to(origin, position)).collect();
        }
    }

    /// Parses the corners of an element into `state.face`, and returns their number. `what` names the kind of element
    /// in error messages.
    fn corners(&mut self, what: &str, rest: &str) -> Result<usize, String> {
        let (obj, state) = (&self.obj, &mut self.state);
        state.face.clear();
        for word in rest.split_whitespace() {
            if state.face.len() == MAX_CORNERS {
                return Err(format!("a {what} has more than {MAX_CORNERS} corners"));
            }
            let corner = corner(word, obj).ok_or_else(|| format!("a {what} refers to a vertex that does not exist"))?;
            state.face.push(corner);
        }
        self.choose_origin();
        Ok(self.state.face.len())
    }

    /// Counts `count` triangles, points or line segments against the limits. Returns the index of the part to which
    /// they belong.
    fn count_elements(&mut self, count: usize) -> Result<usize, String> {
        self.budget.take::<Triangle>(count).map_err(|e| e.to_string())?;
        self.state.elements += count as u64;
        let max = MAX_ELEMENTS.min(self.limits.indices / 3);
        if self.state.elements > max || self.obj.positions.len() as u64 > self.limits.vertices {
            let vertices = self.limits.vertices;
            return Err(format!("there are more than {max} triangles or {vertices} vertices"));
        }
        match self.state.part {
            Some(part) => Ok(part),
            None => self.find_or_add_part(),
        }
    }

    fn points(&mut self, rest: &str) -> Result<(), String> {
        let count = self.corners("point", rest)?;
        if count > 0 {
            let part = self.count_elements(count)?;
            self.obj.parts[part].points.extend(&self.state.face);
        }
        Ok(())
    }

    fn line_strip(&mut self, rest: &str) -> Result<(), String> {
        let count = self.corners("line", rest)?;
        if count > 1 {
            let part = self.count_elements(count - 1)?;
            self.obj.parts[part].lines.extend(self.state.face.windows(2).flatten());
        }
        Ok(())
    }

    fn face(&mut self, rest: &str) -> Result<(), String> {
        let count = self.corners("face", rest)?;
        if count < 3 {
            return Ok(());
        }
        let part = self.count_elements(count - 2)?;
        let (obj, state) = (&mut self.obj, &mut self.state);
        let Some(part) = obj.parts.get_mut(part) else { return Ok(()) };
        let (face, smoothing) = (&state.face, state.smoothing);
        state.triangulator.triangulate(&obj.positions, face, |t| {
            part.triangles.push(Triangle { corners: t.map(|i| face[i]), smoothing });
        });
        Ok(())
    }

    /// Returns the index of the part with the current name and material. Adds the part if it does not exist.
    fn find_or_add_part(&mut self) -> Result<usize, String> {
        let (name, material) = (self.state.name.clone(), self.state.material.clone());
        let next = self.obj.parts.len();
        let part = *self.state.parts.entry((name.clone(), material.clone())).or_insert(next);
        if part == next {
            let bytes = PART_BYTES + 2 * (name.len() + material.len()) as u64;
            self.budget.take_bytes(bytes).map_err(|e| e.to_string())?;
            self.obj.parts.push(Part { name, material, triangles: Vec::new(), points: Vec::new(), lines: Vec::new() });
        }
        self.state.part = Some(part);
        Ok(part)
    }
}

/// Maximum number of triangles, points and line segments. Only an archive with very repetitive contents can exceed this
/// number.
const MAX_ELEMENTS: u64 = 16_000_000;
/// Maximum number of corners of a face or line.
const MAX_CORNERS: usize = 1_000_000;
/// Maximum number of values that are read from a line. This suffices for a position, a weight and a colour.
const MAX_NUMBERS: usize = 8;
/// Maximum length of the name of an object or material, in bytes.
const MAX_NAME_BYTES: usize = 1024;
/// Maximum number of `mtllib` lines.
const MAX_LIBRARIES: usize = 1000;
/// Absolute values of coordinates that are far from 0. At the lower bound, neighbouring single-precision numbers differ by
/// 0.001. The upper bound is so small that subtracting such a coordinate cannot overflow.
const FAR: std::ops::Range<f64> = 16_384.0..1e30;
/// Memory that a part takes in `Obj` and in the glTF document, in bytes, not counting its triangles.
const PART_BYTES: u64 = 4096;

const NO_NUMBER: &str = "a number is not finite or not a number";

/// Returns a position relative to an origin.
fn relative_to(origin: [f32; 3], position: [f64; 3]) -> [f32; 3] {
    std::array::from_fn(|axis| (position[axis] - f64::from(origin[axis])) as f32)
}

/// Converts the hexadecimal digits `MMRRGGBB`, a mask and an sRGB-encoded colour, to the colour. The mask has no effect on
/// what is drawn.
fn polypaint_color(digits: [u8; 8]) -> [f32; 3] {
    let value = digits.iter().fold(0_u32, |n, digit| n * 16 + char::from(*digit).to_digit(16).unwrap_or_default());
    let [_, r, g, b] = value.to_be_bytes();
    [r, g, b].map(|channel| f32::from(channel) / 255.0)
}

/// Parses numbers, which may be infinite or NaN.
fn numbers(rest: &str) -> Result<Vec<f64>, String> {
    let mut out = Vec::new();
    for word in rest.split_whitespace().take(MAX_NUMBERS) {
        let uncommented = if is_marked_as_not_finite(word) { word } else { text::without_comment(word) };
        if !uncommented.is_empty() {
            out.push(number(uncommented).ok_or_else(|| NO_NUMBER.to_owned())?);
        }
        if uncommented.len() < word.len() {
            break;
        }
    }
    Ok(out)
}

/// Parses a number. Exporters that were built with Microsoft's C library write NaN as `-nan(ind)` or, with versions
/// before 2015, as `-1.#IND`. An infinity of these versions is read as NaN, too.
fn number(word: &str) -> Option<f64> {
    let is_nan = || is_marked_as_not_finite(word) || word.trim_start_matches('-').starts_with("nan");
    word.parse().ok().or_else(|| is_nan().then_some(f64::NAN))
}

/// Returns whether a word is infinity or NaN as versions of Microsoft's C library before 2015 write them: `1.#INF`,
/// `1.#IND`, `1.#QNAN` or `1.#SNAN`, possibly with a sign, cut to fewer letters or padded with zeros.
fn is_marked_as_not_finite(word: &str) -> bool {
    let mark = word.trim_start_matches(['+', '-']).strip_prefix("1.#");
    mark.is_some_and(|mark| mark.starts_with(|c: char| c.is_ascii_uppercase()))
}

fn corner(text: &str, obj: &Obj) -> Option<Corner> {
    let mut parts = text.split('/');
    let position = resolve(parts.next()?, obj.positions.len())?;
    // A reference to a texture coordinate or normal that does not exist is ignored.
    let mut optional = |count| parts.next().and_then(|part| resolve(part, count)).unwrap_or(NONE);
    let (uv, normal) = (optional(obj.uvs.len()), optional(obj.normals.len()));
    Some(Corner { position, uv, normal })
}

/// Converts an OBJ index to a list index. OBJ indices start at 1. Negative indices count from the end of the list.
fn resolve(text: &str, count: usize) -> Option<u32> {
    let index: i64 = text.parse().ok()?;
    let count = i64::try_from(count).ok()?;
    let resolved = if index > 0 { index - 1 } else { count.checked_add(index)? };
    (index != 0 && (0..count).contains(&resolved)).then(|| u32::try_from(resolved).ok()).flatten()
}
