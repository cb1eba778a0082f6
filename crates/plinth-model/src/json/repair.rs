//! Documents that break the format's rules where nothing depends on it: what other viewers read over, too.
//!
//! Only a document that cannot be read as it is comes here, so well-formed ones cost nothing.

use serde_json::{Map, Value};

use super::document::Root;
use crate::limits::Budget;
use crate::warnings::Warnings;

/// About what a value takes while a document is repaired.
const BYTES_PER_VALUE: u64 = 160;

/// Reads a document again with what nothing depends on repaired or left out, and tells of it. `None` where that does not
/// help, or would take too much memory.
pub(crate) fn read_repaired(text: &str, budget: &Budget, warnings: &mut Warnings) -> Option<Root> {
    let values = text.bytes().filter(|b| matches!(b, b'{' | b'[' | b',')).count() as u64;
    let bytes = values.saturating_mul(BYTES_PER_VALUE).saturating_add(text.len() as u64);
    if bytes > budget.left_bytes() {
        return None;
    }
    budget.take_bytes(bytes).ok()?;
    let mut document: Value = serde_json::from_str(text).ok()?;
    let mut found = Warnings::default();
    Plain { warnings: &mut found, nulls: 0, fractions: 0 }.make(&mut document);
    repair_members(document.as_object_mut()?, &mut found);
    let root = serde_json::from_value(document).ok()?;
    found.into_list().iter().for_each(|warning| warnings.add(warning));
    Some(root)
}

/// What may be wrong anywhere.
struct Plain<'a> {
    warnings: &'a mut Warnings,
    nulls: usize,
    fractions: usize,
}

impl Plain<'_> {
    fn make(mut self, document: &mut Value) {
        self.change(document);
        if self.nulls > 0 {
            self.warnings.add(&format!("the glTF JSON has {} members that are null; they are left out", self.nulls));
        }
        if self.fractions > 0 {
            self.warnings.add(&format!("the glTF JSON writes {} whole numbers with a fraction", self.fractions));
        }
    }

    fn change(&mut self, value: &mut Value) {
        match value {
            Value::Array(list) => list.iter_mut().for_each(|v| self.change(v)),
            Value::Object(members) => self.members(members),
            Value::Number(number) => {
                let whole = number.as_f64().filter(|v| number.is_f64() && v.fract() == 0.0 && v.abs() < 9e15);
                if let Some(whole) = whole {
                    *value = (whole as i64).into();
                    self.fractions += 1;
                }
            }
            _ => {}
        }
    }

    fn members(&mut self, members: &mut Map<String, Value>) {
        members.remove("extras");
        let before = members.len();
        members.retain(|_, value| !value.is_null());
        self.nulls += before - members.len();
        if members.get("extensions").is_some_and(|e| !e.is_object()) {
            members.remove("extensions");
            self.warnings.add("the glTF JSON has 'extensions' that are no object; they are left out");
        }
        members.values_mut().for_each(|value| self.change(value));
    }
}

/// Lists whose entries have a name.
const NAMED: &[&str] = &["nodes", "meshes", "materials", "animations", "images"];

/// Whether a value has the right type.
type IsRight = fn(&Value) -> bool;

/// Members of entries of a list that are left out where they have the wrong type.
const OPTIONAL: &[(&str, &str, IsRight)] = &[
    ("images", "mimeType", Value::is_string),
    ("materials", "alphaMode", Value::is_string),
    ("materials", "doubleSided", Value::is_boolean),
    ("accessors", "normalized", Value::is_boolean),
    ("samplers", "magFilter", Value::is_u64),
    ("samplers", "minFilter", Value::is_u64),
    ("samplers", "wrapS", Value::is_u64),
    ("samplers", "wrapT", Value::is_u64),
];

fn repair_members(document: &mut Map<String, Value>, warnings: &mut Warnings) {
    for list in NAMED {
        for (i, entry) in entries(document, list) {
            if let Some(name) = entry.get_mut("name").filter(|name| !name.is_string()) {
                warnings.add(&format!("{list}[{i}]: its name is no text"));
                *name = if name.is_number() { name.to_string() } else { String::new() }.into();
            }
        }
    }
    for (list, member, is_right) in OPTIONAL {
        for (i, entry) in entries(document, list) {
            leave_out(entry, member, is_right, &format!("{list}[{i}]"), warnings);
        }
    }
    for (i, animation) in entries(document, "animations") {
        for (k, sampler) in entries(animation, "samplers") {
            let place = format!("animations[{i}].samplers[{k}]");
            leave_out(sampler, "interpolation", &Value::is_string, &place, warnings);
        }
    }
    if let Some(asset) = document.get_mut("asset").and_then(Value::as_object_mut) {
        leave_out(asset, "generator", &Value::is_string, "asset", warnings);
        if let Some(version) = asset.get_mut("version").filter(|version| version.is_number()) {
            warnings.add("asset: its version is no text");
            *version = version.to_string().into();
        }
    }
    let are_texts = |v: &Value| v.as_array().is_some_and(|list| list.iter().all(Value::is_string));
    leave_out(document, "extensionsUsed", &are_texts, "the document", warnings);
}

fn entries<'a>(
    members: &'a mut Map<String, Value>,
    list: &str,
) -> impl Iterator<Item = (usize, &'a mut Map<String, Value>)> {
    let list = members.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
    list.enumerate().filter_map(|(i, entry)| Some((i, entry.as_object_mut()?)))
}

fn leave_out(
    members: &mut Map<String, Value>,
    member: &str,
    is_right: &impl Fn(&Value) -> bool,
    place: &str,
    warnings: &mut Warnings,
) {
    if members.get(member).is_some_and(|value| !is_right(value)) {
        members.remove(member);
        warnings.add(&format!("{place}: its {member} has the wrong type and is left out"));
    }
}
