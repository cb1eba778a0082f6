//! Repairs documents that violate the glTF specification in minor ways that other viewers tolerate.
//!
//! The repair only runs if parsing a document fails, so it does not slow down valid documents. Parsing also fails if a number exceeds
//! the range of `f32`; such a number needs no repair and no warning, because most members may be infinite.

use serde::Deserialize as _;
use serde_json::{Map, Number, Value};

use super::document::Root;
use crate::limits::Budget;
use crate::warnings::Warnings;

/// Approximate memory of one JSON value during a repair, in bytes.
const BYTES_PER_VALUE: u64 = 160;

/// Repairs or removes invalid members of minor importance, and parses the document again. Adds a warning for each
/// change. Returns `None` if the document is still invalid or the repair would take too much memory.
pub(crate) fn read_repaired(text: &str, budget: &Budget, warnings: &mut Warnings) -> Option<Root> {
    let values = text.bytes().filter(|b| matches!(b, b'{' | b'[' | b',')).count() as u64;
    let bytes = values.saturating_mul(BYTES_PER_VALUE).saturating_add(text.len() as u64);
    if bytes > budget.remaining_bytes() {
        return None;
    }
    budget.take_bytes(bytes).ok()?;
    let mut document: Value = serde_json::from_str(text).ok()?;
    // Through a value, a number that exceeds the range of `f32` becomes infinite.
    if let Ok(root) = Root::deserialize(&document) {
        return Some(root);
    }
    let mut repairs = Warnings::default();
    GenericRepair { warnings: &mut repairs, nulls: 0 }.run(&mut document);
    repair_members(document.as_object_mut()?, &mut repairs);
    let root = if let Ok(root) = Root::deserialize(&document) {
        root
    } else {
        // This comes last, because most numbers with a decimal point are not meant to be integers.
        write_integers(&mut document);
        repairs.add("the glTF JSON has integers with a decimal point");
        serde_json::from_value(document).ok()?
    };
    repairs.into_list().iter().for_each(|warning| warnings.add(warning));
    Some(root)
}

/// Repairs problems that can occur anywhere in the document.
struct GenericRepair<'a> {
    warnings: &'a mut Warnings,
    nulls: usize,
}

impl GenericRepair<'_> {
    fn run(mut self, document: &mut Value) {
        self.repair_value(document);
        if self.nulls > 0 {
            self.warnings.add(&format!("the glTF JSON has {} members that are null; they are ignored", self.nulls));
        }
    }

    fn repair_value(&mut self, value: &mut Value) {
        match value {
            Value::Array(list) => list.iter_mut().for_each(|v| self.repair_value(v)),
            Value::Object(members) => self.repair_object(members),
            _ => {}
        }
    }

    fn repair_object(&mut self, members: &mut Map<String, Value>) {
        members.remove("extras");
        let before = members.len();
        members.retain(|_, value| !value.is_null());
        self.nulls += before - members.len();
        if members.get("extensions").is_some_and(|e| !e.is_object()) {
            members.remove("extensions");
            self.warnings.add("the glTF JSON has 'extensions' that are not objects; they are ignored");
        }
        members.values_mut().for_each(|value| self.repair_value(value));
    }
}

/// Writes numbers such as `3.0` as integers.
fn write_integers(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(write_integers),
        Value::Object(members) => members.values_mut().for_each(write_integers),
        Value::Number(number) => {
            if let Some(integer) = integer_of(number) {
                *number = integer.into();
            }
        }
        _ => {}
    }
}

/// Returns the integer that a number with a decimal point, such as `3.0`, is equal to.
fn integer_of(number: &Number) -> Option<i64> {
    number.as_f64().filter(|v| number.is_f64() && v.fract() == 0.0 && v.abs() < 9e15).map(|v| v as i64)
}

/// Returns whether a value is an unsigned integer, possibly with a decimal point.
fn is_unsigned(value: &Value) -> bool {
    value.is_u64() || value.as_number().and_then(integer_of).is_some_and(|integer| integer >= 0)
}

/// Lists in the document whose entries have the member `name`.
const NAMED_LISTS: &[&str] = &["nodes", "meshes", "materials", "animations", "images"];

/// A check that a value has the correct type.
type TypeCheck = fn(&Value) -> bool;

/// Optional members that are removed if their value has the wrong type. Each entry contains the name of a list, the
/// name of a member of the list's entries, and the type check.
const REMOVABLE_MEMBERS: &[(&str, &str, TypeCheck)] = &[
    ("images", "mimeType", Value::is_string),
    ("materials", "alphaMode", Value::is_string),
    ("materials", "doubleSided", Value::is_boolean),
    ("accessors", "normalized", Value::is_boolean),
    ("samplers", "magFilter", is_unsigned),
    ("samplers", "minFilter", is_unsigned),
    ("samplers", "wrapS", is_unsigned),
    ("samplers", "wrapT", is_unsigned),
];

fn repair_members(document: &mut Map<String, Value>, warnings: &mut Warnings) {
    for list in NAMED_LISTS {
        for (i, entry) in entries(document, list) {
            if let Some(name) = entry.get_mut("name").filter(|name| !name.is_string()) {
                warnings.add(&format!("{list}[{i}]: its name is not a string"));
                *name = if name.is_number() { name.to_string() } else { String::new() }.into();
            }
        }
    }
    for (list, member, has_correct_type) in REMOVABLE_MEMBERS {
        for (i, entry) in entries(document, list) {
            remove_if_wrong_type(entry, member, has_correct_type, &format!("{list}[{i}]"), warnings);
        }
    }
    for (i, material) in entries(document, "materials") {
        repair_factors(material, &format!("materials[{i}]"), warnings);
    }
    for (i, animation) in entries(document, "animations") {
        for (k, sampler) in entries(animation, "samplers") {
            let location = format!("animations[{i}].samplers[{k}]");
            remove_if_wrong_type(sampler, "interpolation", &Value::is_string, &location, warnings);
        }
    }
    if let Some(asset) = document.get_mut("asset").and_then(Value::as_object_mut) {
        remove_if_wrong_type(asset, "generator", &Value::is_string, "asset", warnings);
        if let Some(version) = asset.get_mut("version").filter(|version| version.is_number()) {
            warnings.add("asset: its version is not a string");
            *version = version.to_string().into();
        }
    }
    let are_strings = |v: &Value| v.as_array().is_some_and(|list| list.iter().all(Value::is_string));
    remove_if_wrong_type(document, "extensionsUsed", &are_strings, "the document", warnings);
}

/// Repairs colours of a material that have an alpha too many, or none.
fn repair_factors(material: &mut Map<String, Value>, location: &str, warnings: &mut Warnings) {
    if let Some(factor) = material.get_mut("emissiveFactor").and_then(Value::as_array_mut)
        && factor.len() == 4
    {
        factor.truncate(3);
        warnings.add(&format!("{location}: its emissiveFactor has 4 numbers; the last one is ignored"));
    }
    let pbr = material.get_mut("pbrMetallicRoughness");
    if let Some(factor) = pbr.and_then(|pbr| pbr.get_mut("baseColorFactor")).and_then(Value::as_array_mut)
        && factor.len() == 3
    {
        factor.push(1.into());
        warnings.add(&format!("{location}: its baseColorFactor has 3 numbers; the missing one is read as 1"));
    }
}

fn entries<'a>(
    members: &'a mut Map<String, Value>,
    list: &str,
) -> impl Iterator<Item = (usize, &'a mut Map<String, Value>)> {
    let list = members.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
    list.enumerate().filter_map(|(i, entry)| Some((i, entry.as_object_mut()?)))
}

fn remove_if_wrong_type(
    members: &mut Map<String, Value>,
    member: &str,
    has_correct_type: &impl Fn(&Value) -> bool,
    location: &str,
    warnings: &mut Warnings,
) {
    if members.get(member).is_some_and(|value| !has_correct_type(value)) {
        members.remove(member);
        warnings.add(&format!("{location}: its {member} has the wrong type and is ignored"));
    }
}
