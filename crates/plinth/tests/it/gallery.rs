//! Tests that the gallery shows every setting with valid values and names an existing test for each.

use std::collections::BTreeSet;
use std::path::Path;

use plinth_spec::RenderSettings;
use plinth_spec::settings::{ParseOptions, fields, material_edit_fields};
use serde_json::{Map, Value};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn rows() -> Vec<Value> {
    let text = std::fs::read_to_string(root().join("scripts/gallery/rows.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn members(rows: &[Value], member: &str) -> BTreeSet<String> {
    rows.iter().filter_map(|row| row[member].as_str()).map(str::to_owned).collect()
}

#[test]
fn every_setting_and_every_field_of_an_edit_has_a_row() {
    let rows = rows();
    let keys: BTreeSet<String> = fields().map(|field| field.key.to_owned()).collect();
    assert_eq!(members(&rows, "key"), keys);
    let edits: Vec<Value> = rows.into_iter().filter(|row| row["key"] == "materialEdits").collect();
    assert_eq!(members(&edits, "part"), material_edit_fields().iter().map(|field| field.key.to_owned()).collect());
}

#[test]
fn every_row_has_valid_values_or_says_why_nothing_is_visible() {
    for row in rows() {
        let key = row["key"].as_str().unwrap();
        let Some(values) = row["values"].as_array() else {
            assert!(row["unseen"].is_string(), "{key}");
            continue;
        };
        let mut lists = vec![(&row["base"], values)];
        for (model, values) in row["valuesOf"].as_object().into_iter().flatten() {
            lists.push((&row["baseOf"][model], values.as_array().unwrap()));
        }
        for (base, values) in lists {
            assert!(row["labels"].as_array().is_none_or(|labels| labels.len() == values.len()), "{key}");
            for value in values {
                let mut settings = base.as_object().cloned().unwrap_or_else(Map::new);
                if !value.is_null() {
                    settings.insert(key.to_owned(), value.clone());
                }
                let read = RenderSettings::from_json(&Value::Object(settings), ParseOptions::default());
                assert!(read.is_ok(), "{key}: {}", read.unwrap_err());
            }
        }
    }
}

/// Concatenates the sources of all crates of the workspace.
fn sources(folder: &Path, out: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_setting_has_a_test_that_measures_it() {
    let mut all = String::new();
    sources(&root().join("crates"), &mut all);
    for row in rows() {
        let test = row["test"].as_str().unwrap_or_default();
        let is_there = !test.is_empty() && all.contains(&format!("fn {test}()"));
        assert!(is_there, "{} {}: the test '{test}' does not exist", row["key"], row["part"]);
    }
}
