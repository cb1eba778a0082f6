//! Tests that all settings named in the scripts of the composer exist.

use plinth_spec::settings::{field, schema};

/// Returns the texts in double quotes in a script, from `begin` to `end`.
fn quoted<'a>(script: &'a str, begin: &str, end: &str) -> Vec<&'a str> {
    let (_, rest) = script.split_once(begin).unwrap();
    let (list, _) = rest.split_once(end).unwrap();
    list.split('"').skip(1).step_by(2).collect()
}

fn assert_are_settings(names: &[&str]) {
    assert!(!names.is_empty());
    for name in names {
        assert!(field(name).is_some(), "{name}");
    }
}

#[test]
fn the_free_view_removes_settings() {
    assert_are_settings(&quoted(include_str!("../../assets/js/free_view.js"), "const OF_PATHS = [", "]"));
}

#[test]
fn the_comparison_keeps_settings_and_fields_of_the_form() {
    let form = ["form_token", "look_name", "look_replace"];
    let mut names = quoted(include_str!("../../assets/js/compare.js"), "const OF_VIEW = [", "]");
    names.retain(|name| !form.contains(name));
    assert_are_settings(&names);
}

#[test]
fn keyframes_read_and_write_settings() {
    let script = include_str!("../../assets/js/keyframes.js");
    let calls = script.split("values.get(\"").skip(1).chain(script.split("values.set(\"").skip(1));
    let names: Vec<&str> = calls.filter_map(|rest| rest.split('"').next()).collect();
    assert_are_settings(&names);
}

#[test]
fn controls_of_objects_name_members_of_settings() {
    let script = include_str!("../../assets/js/structure.js");
    let (starts, _) = script.split_once("const STARTS = {").unwrap().1.split_once("\n};").unwrap();
    let (images, _) = script.split_once("const IMAGES = {").unwrap().1.split_once("};").unwrap();
    let entries = starts.lines().chain(images.split(','));
    let members: Vec<&str> = entries.filter_map(|entry| entry.trim().split_once(':')).map(|(name, _)| name).collect();
    assert!(members.len() > 2);
    let schema = schema().to_string();
    for member in members {
        assert!(schema.contains(&format!("\"{member}\":")), "{member}");
    }
}
