//! What `plinth render` writes, and where.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use plinth_pipeline::{DatasetOutput, Outputs, read_cameras};
use plinth_spec::RenderSettings;
use plinth_spec::settings::Output;

use super::Usage;

/// Heading of flags that only datasets have.
const DATASETS: &str = "Datasets";

/// Files beside the video: flag, kind of file, and what it is.
const BESIDE: [(&str, &str, &str); 4] = [
    ("web", "mp4", "Also write a video of at most 1920 on the long side, for web pages"),
    ("thumb", "mp4", "Also write a video of a quarter of each side"),
    ("poster", "png", "Also write a still in full size: the first frame, in a reveal the last"),
    ("small-poster", "png", "Also write that still with 480 on the long side"),
];

/// `--out` and the flags of the files beside it.
pub(crate) fn args() -> Vec<Arg> {
    let path = |name: &'static str| Arg::new(name).long(name).value_name("FILE").value_parser(value_parser!(PathBuf));
    let mut args = vec![path("out").short('o').required(true).help(
        "OUT.mp4, OUT.mov (quality pro), OUT.png (a still), OUT.zip (a dataset), or with --output dataset a folder",
    )];
    args.extend(BESIDE.iter().map(|(flag, _, help)| path(flag).help(*help).help_heading("More outputs")));
    args.push(
        Arg::new("all")
            .long("all")
            .action(ArgAction::SetTrue)
            .help_heading("More outputs")
            .help("All four, as OUT.web.mp4, OUT.thumb.mp4, OUT.poster.png and OUT.small.png where they are not named"),
    );
    args.push(
        path("cameras")
            .help_heading(DATASETS)
            .help("Dataset with the cameras of this transforms.json instead of evenly spread ones"),
    );
    args.push(
        Arg::new("split")
            .long("split")
            .action(ArgAction::SetTrue)
            .help_heading(DATASETS)
            .help("Also write transforms_train.json, transforms_val.json and transforms_test.json"),
    );
    args
}

/// The main output.
pub(crate) fn out(args: &ArgMatches) -> Result<&PathBuf> {
    args.get_one("out").context("--out is missing")
}

/// The kind of a file, as its name says it.
pub(crate) fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// All outputs of a render with these settings.
/// Errors: [`Usage`] where names do not fit, or a folder that is missing.
pub(crate) fn outputs(args: &ArgMatches, settings: &RenderSettings) -> Result<Outputs> {
    let out = out(args)?;
    let quality = settings.video().quality;
    if settings.video().output == Output::Dataset {
        return Ok(Outputs { dataset: Some(dataset(args, settings)?), ..Outputs::default() });
    }
    if args.get_flag("split") || args.contains_id("cameras") {
        return Err(Usage("--cameras and --split are for datasets; add --output dataset".to_owned()).into());
    }
    let beside = |flag: &str, ending: &str| {
        let named = args.get_one::<PathBuf>(flag).cloned();
        named.or_else(|| args.get_flag("all").then(|| out.with_extension(ending)))
    };
    let mut outputs = Outputs {
        video: None,
        web: beside("web", "web.mp4"),
        thumb: beside("thumb", "thumb.mp4"),
        poster: beside("poster", "poster.png"),
        small_poster: beside("small-poster", "small.png"),
        dataset: None,
    };
    let given = [&outputs.web, &outputs.thumb, &outputs.poster, &outputs.small_poster];
    for ((flag, kind, _), path) in BESIDE.iter().zip(given) {
        if let Some(path) = path.as_ref().filter(|path| extension(path) != *kind) {
            return Err(Usage(format!("--{flag} takes a .{kind} file, not {}", path.display())).into());
        }
    }
    match (extension(out).as_str(), quality.has_alpha()) {
        ("png", _) if given.iter().any(|path| path.is_some()) => {
            let words = "a .png is a still alone; name the output .mp4 to write more from the same frames";
            return Err(Usage(words.to_owned()).into());
        }
        ("png", _) => outputs.poster = Some(out.clone()),
        ("mov", true) | ("mp4", false) => outputs.video = Some(out.clone()),
        ("mov", false) => {
            let words = format!("a .mov is quality pro, not {}; name the output .mp4", quality.as_str());
            return Err(Usage(words).into());
        }
        ("mp4", true) => return Err(Usage("quality pro is a .mov; name the output so".to_owned()).into()),
        _ => {
            let words =
                format!("{} must end in .mp4, .mov, .png or .zip; a folder needs --output dataset", out.display());
            return Err(Usage(words).into());
        }
    }
    check_places(&outputs)?;
    Ok(outputs)
}

/// A dataset, and the cameras it is made with.
fn dataset(args: &ArgMatches, settings: &RenderSettings) -> Result<DatasetOutput> {
    let path = out(args)?.clone();
    if !matches!(extension(&path).as_str(), "zip" | "") && !path.is_dir() {
        return Err(Usage(format!("a dataset is a .zip or a folder, not {}", path.display())).into());
    }
    if args.get_flag("all") || BESIDE.iter().any(|(flag, ..)| args.contains_id(flag)) {
        return Err(Usage("a dataset is all there is; render other outputs on their own".to_owned()).into());
    }
    if args.get_flag("hash") {
        let words = "--hash is for videos; a dataset's manifest.json has a hash of each file";
        return Err(Usage(words.to_owned()).into());
    }
    check_folder(&path)?;
    let views = match args.get_one::<PathBuf>("cameras") {
        None => None,
        Some(file) => {
            let shown = || file.display().to_string();
            let text = std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
            Some(read_cameras(&text, settings.dataset().quality.side()).with_context(shown)?)
        }
    };
    Ok(DatasetOutput { path, views, splits: args.get_flag("split") })
}

/// Finds a missing folder before the work.
fn check_folder(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    match folder.filter(|p| !p.is_dir()) {
        Some(missing) => anyhow::bail!("the folder {} does not exist; make it first", missing.display()),
        None => Ok(()),
    }
}

/// Finds before the work what would fail after it.
fn check_places(outputs: &Outputs) -> Result<()> {
    let all = [&outputs.video, &outputs.web, &outputs.thumb, &outputs.poster, &outputs.small_poster];
    let mut known = Vec::new();
    for path in all.into_iter().flatten() {
        check_folder(path)?;
        if path.is_dir() {
            return Err(Usage(format!("{} is a folder; name a file in it", path.display())).into());
        }
        let place = std::path::absolute(path)?;
        if known.contains(&place) {
            return Err(Usage(format!("{} is named for two outputs; give each its own name", path.display())).into());
        }
        known.push(place);
    }
    Ok(())
}
