//! Passes the uniforms of full-screen shaders to the fragment stage as flat vertex outputs.
//!
//! In the fragment stage, lavapipe (Mesa 22.3) reads each number of a uniform buffer once per pixel, because the first
//! pixel of a group may be inactive. A flat vertex output is read once per group. Therefore the vertex stage reads the
//! uniforms instead: a full-screen pass has only three vertices.

use super::entry_point::{EntryPoint, without_attributes};
use super::uniform_values::{SLOT, Value, is_word, placed, replaced, used_values};

/// Names of the vertex output structures of full-screen passes and of transparent surfaces. Passes that draw all
/// triangles of a model would take longer with more vertex outputs.
const FEW_TRIANGLES: [&str; 3] = ["CornerOut", "ShadeOut", "VertexOut"];

/// Returns a shader that passes its uniforms to the fragment stage as flat vertex outputs. There are at most `limit`
/// vertex outputs, including those that the shader has already; the fragment stage still reads the uniforms that do not
/// fit. If a vertex output is the index with which the fragment stage reads an element of a uniform array, the vertex
/// stage reads this element, too. A shader whose stages do not have the usual form is returned unchanged.
pub(crate) fn with_flat_uniforms(source: &str, limit: usize) -> String {
    changed(source, limit).unwrap_or_else(|| source.to_owned())
}

fn changed(source: &str, limit: usize) -> Option<String> {
    let vertex = EntryPoint::find(source, "@vertex\nfn vs(")?;
    let fragment = EntryPoint::find(vertex.after, "@fragment\nfn fs(")?;
    let given = VertexOutputs::of(source, &vertex)?;
    // Only values that are used outside the vertex stage are passed on, because the vertex stage still reads the
    // uniforms.
    let outside = [vertex.before, vertex.after].concat();
    let (values, outputs) = placed(used_values(source, &outside), limit.saturating_sub(given.next_location()));
    if values.is_empty() {
        return None;
    }
    let function = |name: &str, of: &EntryPoint<'_>, body: &str| {
        let (arguments, result) = (without_attributes(of.arguments), without_attributes(of.result));
        format!("fn {name}({arguments}) -> {result} {{\n{body}\n}}\n")
    };
    let [before, between, after] = [vertex.before, fragment.before, fragment.after].map(|text| replaced(text, &values));
    let mut color = replaced(fragment.body, &values);
    let selection = Selection::find(fragment.body);
    if let Some(selection) = &selection
        && ![&before, &between, &color, &after].into_iter().any(|text| selection.is_used_in(text))
    {
        color = color.replacen(selection.statement, "", 1);
    }
    let parts = [
        before,
        function("vertex_of_pass", &vertex, vertex.body),
        between,
        function("color_of_pass", &fragment, &color),
        after,
        declarations(&values, &given, &outputs),
        vertex_stage(&vertex, selection.as_ref(), &values, &given, &outputs),
        fragment_stage((&vertex, &fragment), &values, &given),
    ];
    Some(parts.concat())
}

/// The statement with which the fragment stage copies an element of a uniform array to a private variable.
struct Selection<'a> {
    statement: &'a str,
    /// The name of the variable, which is also the name of the vertex output with the index.
    name: &'a str,
}

impl<'a> Selection<'a> {
    fn find(body: &'a str) -> Option<Self> {
        body.lines().find_map(|statement| {
            let (name, element) = statement.trim().split_once(" = ")?;
            let index = element.strip_prefix(name)?.strip_prefix("s[")?.strip_suffix("];")?;
            (index.split_once('.')?.1 == name).then_some(Self { statement, name })
        })
    }

    /// Returns whether a text reads a member of the variable.
    fn is_used_in(&self, text: &str) -> bool {
        text.lines().filter_map(|line| line.split("//").next()).any(|code| {
            let pieces: Vec<&str> = code.split(&format!("{}.", self.name)).collect();
            pieces.array_windows().any(|[before, _]| !before.ends_with(|c| is_word(c) || c == '.'))
        })
    }
}

/// What the vertex stage returns.
struct VertexOutputs {
    /// The members of the structure. If the vertex stage returns only a position, the position is the only member.
    members: Vec<String>,
    is_structure: bool,
}

impl VertexOutputs {
    /// Returns `None` if the pass draws many triangles.
    fn of(source: &str, vertex: &EntryPoint<'_>) -> Option<Self> {
        if vertex.result.starts_with('@') {
            return Some(Self { members: vec![vertex.result.replace(") ", ") clip: ")], is_structure: false });
        }
        if !FEW_TRIANGLES.contains(&vertex.result) {
            return None;
        }
        let body = source.split_once(&format!("\nstruct {} {{\n", vertex.result))?.1.split_once("\n}")?.0;
        let members =
            body.lines().filter_map(|line| line.trim().strip_suffix(',')).filter(|line| line.starts_with('@'));
        Some(Self { members: members.map(str::to_owned).collect(), is_structure: true })
    }

    /// Returns the first location that no member uses.
    fn next_location(&self) -> usize {
        let location = |member: &String| member.strip_prefix("@location(")?.split_once(')')?.0.parse::<usize>().ok();
        self.members.iter().filter_map(location).max().map_or(0, |last| last + 1)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().filter_map(|member| member.split_once(": ")?.0.rsplit(' ').next())
    }
}

/// Declares the private variables and the structure of all vertex outputs.
fn declarations(values: &[Value], given: &VertexOutputs, outputs: &[&str]) -> String {
    let mut lines: Vec<String> =
        values.iter().map(|value| format!("var<private> {}: {};", value.variable, value.class.name)).collect();
    lines.push("struct FlatOut {".to_owned());
    lines.extend(given.members.iter().map(|member| format!("    {member},")));
    let first = given.next_location();
    lines.extend(
        (0..)
            .zip(outputs)
            .map(|(slot, kind)| format!("    @location({}) @interpolate(flat) flat{slot}: {kind},", first + slot)),
    );
    lines.join("\n") + "\n}\n"
}

fn vertex_stage(
    vertex: &EntryPoint<'_>,
    selection: Option<&Selection<'_>>,
    values: &[Value],
    given: &VertexOutputs,
    outputs: &[&str],
) -> String {
    let mut lines = vec![format!("@vertex\nfn vs({}) -> FlatOut {{", vertex.arguments)];
    let read = |of_set: bool| {
        let read = values.iter().filter(move |value| value.of_set == of_set);
        read.map(|value| format!("    {} = {};", value.variable, value.place))
    };
    lines.extend(read(false));
    lines.push(format!("    let result_of_pass = vertex_of_pass({});", vertex.names().join(", ")));
    lines.extend(selection.map(|Selection { name, .. }| format!("    {name} = {name}s[result_of_pass.{name}];")));
    lines.extend(read(true));
    lines.push("    var out_of_pass: FlatOut;".to_owned());
    lines.extend(given.names().map(|name| {
        let member = if given.is_structure { format!(".{name}") } else { String::new() };
        format!("    out_of_pass.{name} = result_of_pass{member};")
    }));
    lines.extend(
        (0..)
            .zip(outputs)
            .map(|(slot, kind)| format!("    out_of_pass.flat{slot} = {kind}({});", parts_of(slot, values).join(", "))),
    );
    lines.join("\n") + "\n    return out_of_pass;\n}\n"
}

fn fragment_stage(
    (vertex, fragment): (&EntryPoint<'_>, &EntryPoint<'_>),
    values: &[Value],
    given: &VertexOutputs,
) -> String {
    // The first argument of the fragment stage is the result of the vertex stage.
    let others = fragment.arguments.split_once(", ").map_or("", |(_, others)| others);
    let mut lines = vec![format!("@fragment\nfn fs(v_of_pass: FlatOut, {others}) -> {} {{", fragment.result)];
    lines.extend(values.iter().map(|value| format!("    {} = {};", value.variable, read(value))));
    let mut passed = fragment.names();
    if given.is_structure {
        lines.push(format!("    var given_of_pass: {};", vertex.result));
        lines.extend(given.names().map(|name| format!("    given_of_pass.{name} = v_of_pass.{name};")));
        passed[0] = "given_of_pass";
    } else {
        passed[0] = "v_of_pass.clip";
    }
    lines.push(format!("    return color_of_pass({});\n}}\n", passed.join(", ")));
    lines.join("\n")
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

/// Returns the expression that reads a value from the vertex outputs.
fn read(value: &Value) -> String {
    let column = |(slot, first): &(usize, usize)| {
        let components: String = "xyzw".chars().skip(*first).take(value.class.components).collect();
        format!("v_of_pass.flat{slot}.{components}")
    };
    let columns = value.slots.iter().map(column).collect::<Vec<_>>().join(", ");
    if value.class.columns > 1 { format!("{}({columns})", value.class.name) } else { columns }
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
    fn the_vertex_stage_reads_the_element_of_a_set() {
        let shader = SHADER
            .replace("var<uniform> look: Look;", "var<uniform> looks: array<Look, 64>;\nvar<private> look: Look;")
            .replace("struct Look {", "struct ShadeOut {\n    @builtin(position) clip: vec4<f32>,\n    @location(0) @interpolate(flat) look: u32,\n}\nstruct Look {")
            .replace("-> @builtin(position) vec4<f32> {\n    return", "-> ShadeOut {\n    let unused =")
            .replace("fs(@builtin(position) at: vec4<f32>)", "fs(given: ShadeOut)")
            .replace("    return vec4(tinted(at.xyz), 1.0);", "    look = looks[given.look];\n    return vec4(tinted(given.clip.xyz), 1.0);");
        let out = with_flat_uniforms(&shader, 16);
        let (vertex, fragment) = out.split_once("@fragment").unwrap();
        assert!(
            vertex.contains("    look = looks[result_of_pass.look];\n    flat_look_rows_1 = look.rows[1];"),
            "{out}"
        );
        assert_eq!(vertex.matches("look = looks[").count(), 1, "{out}");
        assert!(fragment.contains("flat_look_gain = v_of_pass.flat1.w;"), "{out}");
        // The last value does not fit.
        let out = with_flat_uniforms(&shader, 2);
        assert!(out.contains("    look = looks[given.look];") && out.contains("* look.gain +"), "{out}");
    }

    #[test]
    fn passes_over_all_triangles_keep_their_form() {
        let shader = SHADER.replace("-> @builtin(position) vec4<f32> {", "-> PosedOut {");
        assert_eq!(with_flat_uniforms(&shader, 16), shader);
    }
}
