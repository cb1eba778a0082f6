//! Mutations of JSON that keep its syntax valid.

use serde_json::{Number, Value};

use crate::mutation::{MutateBytes, Random, mutated};

/// Numbers at which readers of models change their behaviour.
const NUMBERS: [f64; 12] = [0.0, 1.0, -1.0, 2.0, 3.0, 4.0, 0.5, 255.0, 65536.0, 4294967295.0, 1e-40, 3e38];

/// Mutates a JSON text. Two thirds of the mutations change one value and keep the syntax valid. The result has at most `max_size`
/// bytes.
pub fn mutate_json(text: &[u8], max_size: usize, seed: u32, mutate: MutateBytes) -> Vec<u8> {
    let changed = if seed % 3 == 0 { None } else { with_changed_value(text, seed / 3) };
    changed.filter(|changed| changed.len() <= max_size).unwrap_or_else(|| mutated(text, max_size, mutate))
}

/// Changes one value of a JSON text: a number, a text, an entry of a list, or a field of an object. Returns `None` if the text cannot
/// be parsed.
fn with_changed_value(text: &[u8], seed: u32) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(text).ok()?;
    let mut random = Random::new(seed);
    let all = count(&value);
    let other = nth(&mut value, &mut random.below(all))?.clone();
    let changed = nth(&mut value, &mut random.below(all))?;
    change(changed, other, &mut random);
    serde_json::to_vec(&value).ok()
}

/// Returns the number of values in a value, including itself.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(entries) => entries.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

/// Returns a value inside of `value`, or `value` itself: the one that comes after `left` others. Subtracts the values that it skips
/// from `left`.
fn nth<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(entries) => entries.iter_mut().find_map(|entry| nth(entry, left)),
        Value::Object(fields) => fields.values_mut().find_map(|field| nth(field, left)),
        _ => None,
    }
}

/// Changes a value. `other` is a value of the same text.
fn change(value: &mut Value, other: Value, random: &mut Random) {
    let kind = random.below(6);
    match value {
        _ if kind == 0 => *value = other,
        Value::Number(number) if kind < 4 => {
            let step = [-1.0, 1.0, 2.0][kind - 1];
            *number = number_of(number.as_f64().unwrap_or_default() + step).unwrap_or_else(|| Number::from(0));
        }
        Value::Number(number) => {
            *number = number_of(NUMBERS[random.below(NUMBERS.len())]).unwrap_or_else(|| Number::from(0))
        }
        Value::Bool(is_set) => *is_set = !*is_set,
        Value::Array(entries) if entries.is_empty() => entries.push(other),
        Value::Array(entries) => {
            let place = random.below(entries.len());
            match kind {
                1 => drop(entries.remove(place)),
                2 => entries.push(entries[place].clone()),
                3 => entries.push(other),
                4 => entries.reverse(),
                _ => entries[place] = other,
            }
        }
        Value::Object(fields) => {
            let Some(key) = fields.keys().nth(random.below(fields.len())).cloned() else { return };
            if kind < 3 {
                fields.remove(&key);
            } else {
                fields.insert(key, other);
            }
        }
        Value::Null | Value::String(_) => *value = other,
    }
}

/// Converts a number to JSON. Whole numbers have no decimal point, because readers expect integers.
fn number_of(value: f64) -> Option<Number> {
    if value.fract() == 0.0 && value.abs() < 1e15 { Some(Number::from(value as i64)) } else { Number::from_f64(value) }
}
