//! Passes the uniforms of full-screen shaders to the fragment stage as flat vertex outputs.
//!
//! In the fragment stage, lavapipe (Mesa 22.3) reads each number of a uniform buffer once per pixel, because the first
//! pixel of a group may be inactive. A flat vertex output is read once per group. The vertex stage reads the uniforms, and
//! a full-screen pass has only three vertices.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::entry_point::{EntryPoint, without_attributes};

/// Vertex outputs of full-screen passes, and of transparent surfaces. Passes that draw all triangles of a model would take
/// longer with more vertex outputs.
const FEW_TRIANGLES: [&str; 2] = ["CornerOut", "VertexOut"];

/// Scalars of one kind per vertex output.
const SLOT: usize = 4;

/// A value of a uniform that the shader uses.
struct Value {
    /// As written in the shader, such as `frame.camera_position`.
    place: String,
    /// Name of the private variable that replaces it.
    variable: String,
    class: &'static Class,
    /// The vertex output of each column, and the index of the column's first component.
    slots: Vec<(usize, usize)>,
}

/// A type of values: its name, the number of columns, the components of a column, and the type of a vertex output.
struct Class {
    name: &'static str,
    columns: usize,
    components: usize,
    slot: &'static str,
}

const FLOATS: &str = "vec4<f32>";
const WORDS: &str = "vec4<u32>";
/// In the order in which they are placed. Matrices are last, because shaders seldom use all their components.
const CLASSES: [Class; 8] = [
    Class { name: "vec4<f32>", columns: 1, components: 4, slot: FLOATS },
    Class { name: "vec3<f32>", columns: 1, components: 3, slot: FLOATS },
    Class { name: "vec2<f32>", columns: 1, components: 2, slot: FLOATS },
    Class { name: "f32", columns: 1, components: 1, slot: FLOATS },
    Class { name: "vec2<u32>", columns: 1, components: 2, slot: WORDS },
    Class { name: "u32", columns: 1, components: 1, slot: WORDS },
    Class { name: "vec4<u32>", columns: 1, components: 4, slot: WORDS },
    Class { name: "mat4x4<f32>", columns: 4, components: 4, slot: FLOATS },
];

/// Returns a shader that passes its uniforms to the fragment stage as flat vertex outputs. There are at most `limit` vertex
/// outputs, including those that the shader has already; uniforms that do not fit are read as before. A shader whose stages
/// do not have the usual form is returned unchanged.
pub(crate) fn with_flat_uniforms(source: &str, limit: usize) -> String {
    let stages = EntryPoint::find(source, "@vertex\nfn vs(").zip(EntryPoint::find(source, "@fragment\nfn fs("));
    let Some((vertex, fragment)) = stages else { return source.to_owned() };
    let Some((given, clip)) = vertex_outputs(source, &vertex) else { return source.to_owned() };
    let free = limit.saturating_sub(next_location(&given));
    let outside = [&source[..vertex.start], &source[vertex.end..]].concat();
    let (values, outputs) = placed(used_values(source, &outside), free);
    if values.is_empty() {
        return source.to_owned();
    }
    // The vertex stage reads the uniforms.
    let mut out = replaced(&source[..vertex.start], &values);
    let _ = writeln!(
        out,
        "fn vertex_of_pass({}) -> {} {{",
        without_attributes(vertex.arguments),
        without_attributes(vertex.result)
    );
    out.push_str(vertex.body);
    out.push_str(&replaced(&source[vertex.end..fragment.start], &values));
    let _ = writeln!(
        out,
        "fn color_of_pass({}) -> {} {{",
        without_attributes(fragment.arguments),
        without_attributes(fragment.result)
    );
    out.push_str(&replaced(fragment.body, &values));
    out.push_str(&replaced(&source[fragment.end..], &values));
    entry_points(&mut out, (&vertex, &fragment), (&given, clip), (&values, &outputs));
    out
}

/// Returns the members of the structure that the vertex stage returns, and how the fragment stage is given it. If the
/// vertex stage returns only a position, this is its only member.
fn vertex_outputs(source: &str, vertex: &EntryPoint<'_>) -> Option<(String, Clip)> {
    if vertex.result.starts_with('@') {
        return Some((format!("    {},\n", vertex.result.replace(") ", ") clip: ")), Clip::Alone));
    }
    if !FEW_TRIANGLES.contains(&vertex.result) {
        return None;
    }
    let members = source.split_once(&format!("\nstruct {} {{\n", vertex.result))?.1.split_once("\n}")?.0;
    let members = members.lines().filter(|line| line.trim_start().starts_with('@'));
    Some((members.map(|line| format!("{line}\n")).collect(), Clip::Member))
}

/// Whether the position is the only vertex output, or a member of a structure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clip {
    Alone,
    Member,
}

/// Finds the uniforms of a shader that the part `outside` of its vertex stage uses.
fn used_values(source: &str, outside: &str) -> Vec<Value> {
    let mut values: Vec<Value> = Vec::new();
    for (uniform, members) in uniforms(source) {
        for (start, _) in outside.match_indices(&format!("{uniform}.")) {
            if outside[..start].ends_with(is_word) {
                continue;
            }
            let rest = &outside[start + uniform.len() + 1..];
            let member = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
            let Some(kind) = members.get(member) else { continue };
            let (kind, index) = match kind.strip_prefix("array<").and_then(|of| of.split_once(", ")) {
                Some((element, _)) => match literal_index(&rest[member.len()..]) {
                    Some(index) => (element, format!("[{index}]")),
                    None => continue,
                },
                None => (*kind, String::new()),
            };
            let place = format!("{uniform}.{member}{index}");
            let class = CLASSES.iter().find(|class| class.name == kind);
            if let Some(class) = class.filter(|_| values.iter().all(|value| value.place != place)) {
                let variable = place.replace(['.', '['], "_").replace(']', "");
                values.push(Value { place, variable: format!("flat_{variable}"), class, slots: Vec::new() });
            }
        }
    }
    values
}

/// Returns the names of all uniforms with the types of their members by name.
fn uniforms(source: &str) -> Vec<(&str, BTreeMap<&str, &str>)> {
    let declared = source.lines().filter_map(|line| line.split_once("var<uniform> ")?.1.strip_suffix(';'));
    declared
        .filter_map(|declaration| declaration.split_once(": "))
        .filter_map(|(name, kind)| {
            let body = source.split_once(&format!("\nstruct {kind} {{\n"))?.1.split_once("\n}")?.0;
            let members = body.lines().filter_map(|line| line.trim().strip_suffix(',')?.split_once(": "));
            Some((name, members.collect()))
        })
        .collect()
}

/// Returns the index of an array access with a literal index.
fn literal_index(rest: &str) -> Option<&str> {
    let (index, _) = rest.strip_prefix('[')?.split_once(']')?;
    index.chars().all(|c| c.is_ascii_digit()).then_some(index)
}

const fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Chooses vertex outputs for the values. Returns the values that fit, and the types of the vertex outputs.
fn placed(values: Vec<Value>, limit: usize) -> (Vec<Value>, Vec<&'static str>) {
    let mut outputs: Vec<(&'static str, usize)> = Vec::new();
    let mut fitting: Vec<Value> = Vec::new();
    let mut ordered = values;
    ordered.sort_by_key(|value| (CLASSES.iter().position(|class| class.name == value.class.name), value.place.clone()));
    for mut value in ordered {
        let mut changed = outputs.clone();
        for _ in 0..value.class.columns {
            let size = value.class.components;
            let free = changed.iter().position(|(kind, used)| *kind == value.class.slot && used + size <= SLOT);
            let slot = free.unwrap_or_else(|| {
                changed.push((value.class.slot, 0));
                changed.len() - 1
            });
            value.slots.push((slot, changed[slot].1));
            changed[slot].1 += size;
        }
        if changed.len() <= limit {
            outputs = changed;
            fitting.push(value);
        }
    }
    (fitting, outputs.into_iter().map(|(kind, _)| kind).collect())
}

/// Replaces the uniforms of the source by private variables.
fn replaced(source: &str, values: &[Value]) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let starts_word = !out.ends_with(|before| is_word(before) || before == '.');
        let found = values.iter().find(|value| {
            let follows = || rest[value.place.len()..].chars().next();
            starts_word
                && rest.starts_with(&value.place)
                && (value.place.ends_with(']') || !follows().is_some_and(is_word))
        });
        match found {
            Some(value) => {
                out.push_str(&value.variable);
                rest = &rest[value.place.len()..];
            }
            None => {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    out
}

/// Appends the private variables and the entry points.
fn entry_points(
    out: &mut String,
    (vertex, fragment): (&EntryPoint<'_>, &EntryPoint<'_>),
    (given, clip): (&str, Clip),
    (values, outputs): (&[Value], &[&str]),
) {
    let mut text = String::new();
    for value in values {
        let _ = writeln!(text, "var<private> {}: {};", value.variable, value.class.name);
    }
    let used = next_location(given);
    text.push_str("struct FlatOut {\n");
    text.push_str(given);
    for (slot, kind) in outputs.iter().enumerate() {
        let _ = writeln!(text, "    @location({}) @interpolate(flat) flat{slot}: {kind},", used + slot);
    }
    let _ = writeln!(text, "}}\n@vertex\nfn vs({}) -> FlatOut {{", vertex.arguments);
    for value in values {
        let _ = writeln!(text, "    {} = {};", value.variable, value.place);
    }
    let _ = writeln!(text, "    let result_of_pass = vertex_of_pass({});", vertex.names().join(", "));
    text.push_str("    var out_of_pass: FlatOut;\n");
    for member in member_names(given) {
        let from = if clip == Clip::Alone { String::new() } else { format!(".{member}") };
        let _ = writeln!(text, "    out_of_pass.{member} = result_of_pass{from};");
    }
    for (slot, kind) in outputs.iter().enumerate() {
        let _ = writeln!(text, "    out_of_pass.flat{slot} = {kind}({});", parts_of(slot, values).join(", "));
    }
    let arguments = fragment.arguments.split_once(", ").map_or("", |(_, rest)| rest);
    let _ = writeln!(
        text,
        "    return out_of_pass;\n}}\n@fragment\nfn fs(v_of_pass: FlatOut, {arguments}) -> {} {{",
        fragment.result
    );
    for value in values {
        let columns = value
            .slots
            .iter()
            .map(|(slot, first)| format!("v_of_pass.flat{slot}{}", components(value.class.components, *first)));
        let parts = columns.collect::<Vec<_>>().join(", ");
        let whole = if value.class.columns > 1 { format!("{}({parts})", value.class.name) } else { parts };
        let _ = writeln!(text, "    {} = {whole};", value.variable);
    }
    let mut passed = fragment.names();
    match clip {
        Clip::Alone => passed[0] = "v_of_pass.clip",
        Clip::Member => {
            let _ = writeln!(text, "    var given_of_pass: {};", vertex.result);
            for member in member_names(given) {
                let _ = writeln!(text, "    given_of_pass.{member} = v_of_pass.{member};");
            }
            passed[0] = "given_of_pass";
        }
    }
    let _ = writeln!(text, "    return color_of_pass({});\n}}", passed.join(", "));
    out.push_str(&text);
}

/// Returns the number after the last location of vertex outputs.
fn next_location(members: &str) -> usize {
    let locations =
        members.split("@location(").skip(1).filter_map(|rest| rest.split_once(')')?.0.parse::<usize>().ok());
    locations.max().map_or(0, |last| last + 1)
}

/// Returns the names of the members of a structure.
fn member_names(members: &str) -> impl Iterator<Item = &str> {
    members.lines().filter_map(|line| line.split_once(": ")?.0.rsplit(' ').next())
}

/// Returns the expressions whose components fill a vertex output.
fn parts_of(slot: usize, values: &[Value]) -> Vec<String> {
    let mut parts = Vec::new();
    let mut used = 0;
    for value in values {
        for (column, _) in value.slots.iter().enumerate().filter(|(_, place)| place.0 == slot) {
            let index = if value.class.columns > 1 { format!("[{column}]") } else { String::new() };
            parts.push(format!("{}{index}", value.variable));
            used += value.class.components;
        }
    }
    parts.extend((used..SLOT).map(|_| "0".to_owned()));
    parts
}

/// Returns the accessor of some components of a vertex output.
fn components(count: usize, first: usize) -> String {
    if count == SLOT { String::new() } else { format!(".{}", &"xyzw"[first..first + count]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHADER: &str = "
struct Look {
    // A comment, with: punctuation.
    turn: mat4x4<f32>,
    tint: vec3<f32>,
    gain: f32,
    number: u32,
    rows: array<vec4<f32>, 2>,
    lights: array<Light, 2>,
}
@group(0) @binding(0) var<uniform> look: Look;

fn tinted(c: vec3<f32>) -> vec3<f32> {
    return c * look.tint * look.gain + look.rows[1].xyz;
}

@vertex
fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4<f32> {
    return look.turn * vec4(f32(i), 0.0, 0.0, f32(look.number));
}

@fragment
fn fs(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    return vec4(tinted(at.xyz), 1.0);
}
";

    #[test]
    fn the_fragment_stage_reads_vertex_outputs() {
        let out = with_flat_uniforms(SHADER, 16);
        assert!(out.contains("return c * flat_look_tint * flat_look_gain + flat_look_rows_1.xyz;"), "{out}");
        assert!(out.contains("flat0: vec4<f32>,") && out.contains("flat1: vec4<f32>,") && !out.contains("flat2:"));
        assert!(out.contains("out_of_pass.flat1 = vec4<f32>(flat_look_tint, flat_look_gain);"), "{out}");
        assert!(out.contains("flat_look_gain = v_of_pass.flat1.w;"), "{out}");
    }

    #[test]
    fn what_only_the_vertex_stage_uses_is_not_passed() {
        let out = with_flat_uniforms(SHADER, 16);
        assert!(out.contains("return look.turn * vec4(f32(i), 0.0, 0.0, f32(look.number));"), "{out}");
        assert!(!out.contains("flat_look_turn") && !out.contains("flat_look_number"));
    }

    #[test]
    fn uniforms_that_do_not_fit_are_read_as_before() {
        let out = with_flat_uniforms(SHADER, 1);
        assert!(out.contains("return c * look.tint * look.gain + flat_look_rows_1.xyz;"), "{out}");
        assert_eq!(with_flat_uniforms(SHADER, 0), SHADER);
    }

    #[test]
    fn passes_over_all_triangles_keep_their_form() {
        let shader = SHADER.replace("-> @builtin(position) vec4<f32> {", "-> PosedOut {");
        assert_eq!(with_flat_uniforms(&shader, 16), shader);
    }
}
