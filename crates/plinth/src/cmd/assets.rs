//! The flags `--asset`, `--bg-image` and `--decal`, which name the image files that the settings use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use clap::{Arg, ArgAction, ArgMatches};
use glam::{DQuat, DVec3, EulerRot};
use plinth_spec::RenderSettings;
use serde_json::{Map, Value, json};

use super::{Usage, plain};
use crate::note::note;

/// Asset ID of the image of `--bg-image`.
const BACKGROUND: &str = "bg-image";

/// Returns the flags for image files.
pub(crate) fn args() -> Vec<Arg> {
    let list =
        |name: &'static str, value: &'static str| Arg::new(name).long(name).value_name(value).action(ArgAction::Append);
    vec![
        list("asset", "ID=FILE")
            .help("Image file (PNG, JPEG, WebP) for an ID in the settings bgImageId, imageAssetId or mapAssetId"),
        Arg::new(BACKGROUND).long(BACKGROUND).value_name("FILE").help("Background image; sets bgImageId"),
        list("decal", "FILE@X,Y,Z,SIZE[,YAW[,PITCH[,ROLL]]]")
            .help("Image projected onto the model; added to decals")
            .long_help(
                "Image projected onto the model; added to decals. X,Y,Z is its centre in normalised units (the model is \
                 centred and 2 units long), SIZE the length of its longer side. It faces +Z, rotated by YAW about the \
                 vertical axis, then by PITCH, then by ROLL, in degrees.",
            ),
    ]
}

/// Adds the values of the flags to the settings.
/// Errors: [`Usage`].
pub(crate) fn set(args: &ArgMatches, members: &mut Map<String, Value>) -> Result<()> {
    if args.contains_id(BACKGROUND) {
        if args.contains_id("bgImageId") {
            let message = "--bg-image sets bgImageId; for --bg-image-id ID, pass the file with --asset ID=FILE";
            return Err(Usage(message.to_owned()).into());
        }
        members.insert("bgImageId".to_owned(), Value::from(BACKGROUND));
    }
    let flags = args.get_many::<String>("decal").into_iter().flatten();
    let decals = flags.enumerate().map(|(i, text)| decal(i, text)).collect::<Result<Vec<_>>>()?;
    if !decals.is_empty() {
        match members.entry("decals").or_insert_with(|| json!([])) {
            Value::Array(list) => list.extend(decals),
            _ => return Err(Usage("decals must be a list".to_owned()).into()),
        }
    }
    Ok(())
}

/// Returns the asset ID of the image of the n-th `--decal`.
fn decal_id(number: usize) -> String {
    format!("decal-{}", number + 1)
}

/// Splits the value of `--decal` into the file and the numbers.
fn parts(text: &str) -> Result<(&str, Vec<f64>)> {
    let wrong = || Usage(format!("--decal takes FILE@X,Y,Z,SIZE[,YAW[,PITCH[,ROLL]]], not '{text}'"));
    let (file, place) = text.rsplit_once('@').ok_or_else(wrong)?;
    let numbers: Vec<f64> = place.split(',').map(|n| n.trim().parse().ok()).collect::<Option<_>>().ok_or_else(wrong)?;
    if file.is_empty() || !(4..=7).contains(&numbers.len()) {
        return Err(wrong().into());
    }
    Ok((file, numbers))
}

fn decal(number: usize, text: &str) -> Result<Value> {
    let (_, numbers) = parts(text)?;
    let angle = |i: usize| numbers.get(i).copied().unwrap_or(0.0).to_radians();
    let turn = DQuat::from_euler(EulerRot::YXZ, angle(4), angle(5), angle(6));
    let (x, y, z) = turn.to_euler(EulerRot::XYZ);
    Ok(json!({
        "id": decal_id(number),
        "imageAssetId": decal_id(number),
        "position": numbers[..3],
        "normal": (turn * DVec3::Z).to_array(),
        "euler": [x, y, z],
        "size": numbers[3],
    }))
}

/// Returns the names of all image files, by asset ID. Warns of files that the settings do not use.
/// Errors: [`Usage`] if the settings refer to an image for which there is no flag, or if two files have the same ID.
pub(crate) fn files(args: &ArgMatches, settings: &RenderSettings) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let mut add = |id: String, file: &str| match files.insert(id.clone(), file.to_owned()) {
        None => Ok(()),
        Some(other) => Err(Usage(format!("the image '{id}' has two files, {other} and {file}; give each its own ID"))),
    };
    for text in args.get_many::<String>("asset").into_iter().flatten() {
        let (id, file) = text
            .split_once('=')
            .filter(|(id, file)| !id.is_empty() && !file.is_empty())
            .ok_or_else(|| Usage(format!("--asset takes ID=FILE, not '{text}'")))?;
        add(id.to_owned(), file)?;
    }
    if let Some(file) = args.get_one::<String>(BACKGROUND) {
        add(BACKGROUND.to_owned(), file)?;
    }
    for (i, text) in args.get_many::<String>("decal").into_iter().flatten().enumerate() {
        add(decal_id(i), parts(text)?.0)?;
    }
    for id in settings.overlay_ids() {
        if !files.contains_key(id) {
            return Err(
                Usage(format!("the settings refer to the image '{id}'; pass its file with --asset {id}=FILE")).into()
            );
        }
    }
    let maps = settings.material_edits().values().filter_map(|edit| edit.map_asset_id.as_ref());
    let used: BTreeSet<&String> = settings.overlay_ids().chain(maps).collect();
    for (id, file) in files.iter().filter(|(id, _file)| !used.contains(id)) {
        note!("plinth: warning: the settings do not use the image '{}' ({})", plain(id), plain(file));
    }
    Ok(files)
}

/// Reads image files.
/// Errors: a file cannot be read.
pub(crate) fn read(files: &BTreeMap<String, String>) -> Result<BTreeMap<String, Vec<u8>>> {
    let read = |(id, file): (&String, &String)| {
        let bytes = std::fs::read(Path::new(file)).with_context(|| format!("{file} cannot be read"))?;
        Ok((id.clone(), bytes))
    };
    files.iter().map(read).collect()
}
