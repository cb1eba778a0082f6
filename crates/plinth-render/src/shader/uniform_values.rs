//! Finds the uniforms that a shader uses, and places them in vertex outputs.

use std::collections::BTreeMap;

/// Number of scalars per vertex output. All scalars of a vertex output have the same type.
pub(super) const SLOT: usize = 4;

/// A value of a uniform that the shader uses.
pub(super) struct Value {
    /// The expression that reads the value in the shader, such as `frame.camera_position`.
    pub(super) place: String,
    /// Name of the `var<private>` variable that replaces the expression.
    pub(super) variable: String,
    pub(super) class: &'static Class,
    /// For each column of the value, the index of its vertex output, and the index of its first component in this
    /// output.
    pub(super) slots: Vec<(usize, usize)>,
    /// Whether the value belongs to an element of a uniform array. Each instance uses another element.
    pub(super) of_set: bool,
}

/// A type of values: its name, the number of columns, the components of a column, and the type of a vertex output.
pub(super) struct Class {
    pub(super) name: &'static str,
    pub(super) columns: usize,
    pub(super) components: usize,
    pub(super) slot: &'static str,
}

const FLOATS: &str = "vec4<f32>";
const WORDS: &str = "vec4<u32>";
/// The types in the order in which their values are assigned to vertex outputs. Matrices are last, because shaders
/// seldom use all their components.
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

/// Finds the uniform values of the shader `source` that are used in `part`, which is a part of the shader.
pub(super) fn used_values(source: &str, part: &str) -> Vec<Value> {
    let mut values: Vec<Value> = Vec::new();
    for Uniform { name: uniform, members, of_set } in uniforms(source) {
        let pieces: Vec<&str> = part.split(&format!("{uniform}.")).collect();
        for [before, after] in pieces.array_windows() {
            if before.ends_with(is_word) {
                continue;
            }
            let member = after.split(|c| !is_word(c)).next().unwrap_or_default();
            let Some(kind) = members.get(member) else { continue };
            let (kind, index) = match kind.strip_prefix("array<").and_then(|of| of.split_once(", ")) {
                Some((element, _)) => match after.strip_prefix(member).and_then(literal_index) {
                    Some(index) => (element, format!("[{index}]")),
                    None => continue,
                },
                None => (*kind, String::new()),
            };
            let place = format!("{uniform}.{member}{index}");
            let class = CLASSES.iter().find(|class| class.name == kind);
            if let Some(class) = class.filter(|_| values.iter().all(|value| value.place != place)) {
                let variable = place.replace(['.', '['], "_").replace(']', "");
                values.push(Value { place, variable: format!("flat_{variable}"), class, slots: Vec::new(), of_set });
            }
        }
    }
    values
}

/// A structure whose members are uniform values: a `var<uniform>`, or a `var<private>` that contains a copy of one
/// element of a uniform array.
struct Uniform<'a> {
    name: &'a str,
    /// The types of the members by name.
    members: BTreeMap<&'a str, &'a str>,
    of_set: bool,
}

/// Returns all uniforms of a shader. The private variable with an element of a uniform array has the name of the array
/// without the last letter: `light` contains an element of `lights`.
fn uniforms(source: &str) -> Vec<Uniform<'_>> {
    let declared = |space: &'static str| {
        let declarations = source.lines().filter_map(move |line| line.split_once(space)?.1.strip_suffix(';'));
        declarations.filter_map(|declaration| declaration.split_once(": "))
    };
    let set_of = |name: &str, kind: &str| source.contains(&format!("var<uniform> {name}s: array<{kind}, "));
    let elements = declared("var<private> ").filter(|(name, kind)| set_of(name, kind)).map(|element| (element, true));
    declared("var<uniform> ")
        .map(|uniform| (uniform, false))
        .chain(elements)
        .filter_map(|((name, kind), of_set)| {
            let body = source.split_once(&format!("\nstruct {kind} {{\n"))?.1.split_once("\n}")?.0;
            let members = body.lines().filter_map(|line| line.trim().strip_suffix(',')?.split_once(": "));
            Some(Uniform { name, members: members.collect(), of_set })
        })
        .collect()
}

/// Returns the index of an array access with a literal index.
fn literal_index(rest: &str) -> Option<&str> {
    let (index, _) = rest.strip_prefix('[')?.split_once(']')?;
    index.chars().all(|c| c.is_ascii_digit()).then_some(index)
}

pub(super) const fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Chooses vertex outputs for the values. Returns the values that fit into `limit` vertex outputs, and the types of the
/// outputs.
pub(super) fn placed(values: Vec<Value>, limit: usize) -> (Vec<Value>, Vec<&'static str>) {
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

/// Replaces each expression in `text` that reads one of `values` by the private variable of this value.
pub(super) fn replaced(text: &str, values: &[Value]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_word) {
        let (between, words) = rest.split_at(start);
        out.push_str(between);
        let starts_expression = !out.ends_with(|before| is_word(before) || before == '.');
        let found = values.iter().filter(|_| starts_expression).find_map(|value| {
            let after = words.strip_prefix(&value.place)?;
            (value.place.ends_with(']') || !after.starts_with(is_word)).then_some((value, after))
        });
        if let Some((value, after)) = found {
            out.push_str(&value.variable);
            rest = after;
        } else {
            let (word, after) = words.split_at(words.find(|c| !is_word(c)).unwrap_or(words.len()));
            out.push_str(word);
            rest = after;
        }
    }
    out.push_str(rest);
    out
}
