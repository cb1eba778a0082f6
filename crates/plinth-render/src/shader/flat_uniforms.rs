//! Passes the uniforms of full-screen shaders to the fragment stage as flat vertex outputs.
//!
//! In the fragment stage, lavapipe (Mesa 22.3) reads each number of a uniform buffer once per pixel, because the first
//! pixel of a group may be inactive. A flat vertex output is read once per group. The vertex stage reads the uniforms, and
//! a full-screen pass has only three vertices.

use std::collections::BTreeMap;
use std::fmt::Write as _;

const VERTEX: &str = "@vertex\nfn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4<f32> {";
const FRAGMENT: &str = "@fragment\nfn fs(@builtin(position) at: vec4<f32>) -> ";

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
/// Wider types first: they are placed first.
const CLASSES: [Class; 8] = [
    Class { name: "mat4x4<f32>", columns: 4, components: 4, slot: FLOATS },
    Class { name: "vec4<f32>", columns: 1, components: 4, slot: FLOATS },
    Class { name: "vec3<f32>", columns: 1, components: 3, slot: FLOATS },
    Class { name: "vec2<f32>", columns: 1, components: 2, slot: FLOATS },
    Class { name: "f32", columns: 1, components: 1, slot: FLOATS },
    Class { name: "vec2<u32>", columns: 1, components: 2, slot: WORDS },
    Class { name: "u32", columns: 1, components: 1, slot: WORDS },
    Class { name: "vec4<u32>", columns: 1, components: 4, slot: WORDS },
];

/// Returns a full-screen shader that passes its uniforms as at most `limit` flat vertex outputs. Uniforms that do not fit
/// are read as before. Other shaders are returned unchanged.
pub(crate) fn with_flat_uniforms(source: &str, limit: usize) -> String {
    let Some(result) = source.contains(VERTEX).then(|| result_of(source)).flatten() else { return source.to_owned() };
    let (values, outputs) = placed(used_values(source), limit);
    if values.is_empty() {
        return source.to_owned();
    }
    let plain = result.rsplit(") ").next().unwrap_or(result);
    let mut out = replaced(source, &values)
        .replace(VERTEX, "fn corner_of_pass(i: u32) -> vec4<f32> {")
        .replace(&format!("{FRAGMENT}{result} {{"), &format!("fn color_of_pass(at: vec4<f32>) -> {plain} {{"));
    entry_points(&mut out, &values, &outputs, result);
    out
}

/// Returns what the fragment stage returns, with attributes.
fn result_of(source: &str) -> Option<&str> {
    let rest = &source[source.find(FRAGMENT)? + FRAGMENT.len()..];
    rest.split_once(" {").map(|(result, _)| result)
}

/// Finds the uniforms that a shader uses, in the order of their first use.
fn used_values(source: &str) -> Vec<Value> {
    let mut values: Vec<Value> = Vec::new();
    for (uniform, members) in uniforms(source) {
        for (start, _) in source.match_indices(&format!("{uniform}.")) {
            if source[..start].ends_with(is_word) {
                continue;
            }
            let rest = &source[start + uniform.len() + 1..];
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
fn entry_points(out: &mut String, values: &[Value], outputs: &[&str], result: &str) {
    let mut text = String::new();
    for value in values {
        let _ = writeln!(text, "var<private> {}: {};", value.variable, value.class.name);
    }
    text.push_str("struct FlatOut {\n    @builtin(position) clip: vec4<f32>,\n");
    for (slot, kind) in outputs.iter().enumerate() {
        let _ = writeln!(text, "    @location({slot}) @interpolate(flat) flat{slot}: {kind},");
    }
    text.push_str("}\n@vertex\nfn vs(@builtin(vertex_index) i: u32) -> FlatOut {\n");
    for value in values {
        let _ = writeln!(text, "    {} = {};", value.variable, value.place);
    }
    text.push_str("    var out: FlatOut;\n    out.clip = corner_of_pass(i);\n");
    for (slot, kind) in outputs.iter().enumerate() {
        let _ = writeln!(text, "    out.flat{slot} = {kind}({});", parts_of(slot, values).join(", "));
    }
    let _ = writeln!(text, "    return out;\n}}\n@fragment\nfn fs(v: FlatOut) -> {result} {{");
    for value in values {
        let columns = value.slots.iter().map(|(slot, first)| format!("v.flat{slot}{}", components(value.class.components, *first)));
        let parts = columns.collect::<Vec<_>>().join(", ");
        let whole = if value.class.columns > 1 { format!("{}({parts})", value.class.name) } else { parts };
        let _ = writeln!(text, "    {} = {whole};", value.variable);
    }
    text.push_str("    return color_of_pass(v.clip);\n}\n");
    out.push_str(&text);
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
