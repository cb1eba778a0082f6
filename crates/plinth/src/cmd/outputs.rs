//! The output files of `plinth render`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use plinth_media::check_dataset_target;
use plinth_pipeline::{DatasetOptions, read_cameras};
use plinth_spec::quality::Codec;
use plinth_spec::settings::Output;
use plinth_spec::{OutputFile, OutputPaths, RenderSettings};

use super::Usage;
use super::flags::flag_name;

/// Help heading of flags that apply only to datasets.
const DATASETS: &str = "Datasets";

/// Returns the additional output files that have a flag, with the help text of the flag.
fn beside() -> impl Iterator<Item = (OutputFile, &'static str)> {
    OutputFile::ALL.iter().filter_map(|file| Some((*file, file.declaration().flag_help?)))
}

/// Returns the flag of an additional output file.
fn flag(file: OutputFile) -> String {
    flag_name(file.declaration().local_name)
}

/// Returns the suffix that `--all` appends to the stem of the main output, such as `small.png` for the small poster.
fn suffix(file: OutputFile) -> String {
    let stem = file.declaration().stem;
    format!("{}.{}", stem.rsplit('.').next().unwrap_or(stem), kind(file))
}

/// Returns the extension of an additional output file. The extension does not depend on the quality.
fn kind(file: OutputFile) -> &'static str {
    file.format(Codec::H264).extension()
}

/// Returns `--out`, and the flags of the additional output files.
pub(crate) fn args() -> Vec<Arg> {
    let path = |name: String| Arg::new(name.clone()).long(name).value_name("FILE").value_parser(value_parser!(PathBuf));
    let mut args = vec![path("out".to_owned()).short('o').required(true).help(
        "OUT.mp4, OUT.mov (quality pro), OUT.png (a still), OUT.zip (a dataset), or with --output dataset a folder",
    )];
    args.extend(beside().map(|(file, help)| path(flag(file)).help(help).help_heading("More outputs")));
    let names: Vec<String> = beside().map(|(file, _help)| format!("OUT.{}", suffix(file))).collect();
    args.push(
        Arg::new("all").long("all").action(ArgAction::SetTrue).help_heading("More outputs").help(format!(
            "Write all of these files; files without a flag of their own are named {}",
            names.join(", ")
        )),
    );
    args.push(
        path("cameras".to_owned())
            .help_heading(DATASETS)
            .help("Render the cameras of this transforms.json instead of evenly spread ones"),
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

/// Returns the path of the main output.
pub(crate) fn out(args: &ArgMatches) -> Result<&PathBuf> {
    args.get_one("out").context("--out is missing")
}

/// Returns the extension of a file name, in lower case.
pub(crate) fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// Returns all output files of a render with these settings, and the options of a dataset.
/// Errors: [`Usage`] if the name of a file does not fit the settings; another error if a folder does not exist.
pub(crate) fn outputs(args: &ArgMatches, settings: &RenderSettings) -> Result<(OutputPaths, DatasetOptions)> {
    let out = out(args)?;
    let quality = settings.video().quality;
    if settings.video().output == Output::Dataset {
        return Ok(([(OutputFile::Dataset, out.clone())].into(), dataset(args, out, settings)?));
    }
    if args.get_flag("split") || args.contains_id("cameras") {
        return Err(Usage("--cameras and --split are for datasets; add --output dataset".to_owned()).into());
    }
    let mut outputs = OutputPaths::new();
    for (file, _help) in beside() {
        let (flag, kind) = (flag(file), kind(file));
        let named = args.get_one::<PathBuf>(&flag).cloned();
        let Some(path) = named.or_else(|| args.get_flag("all").then(|| out.with_extension(suffix(file)))) else {
            continue;
        };
        if extension(&path) != kind {
            return Err(Usage(format!("--{flag} takes a .{kind} file, not {}", path.display())).into());
        }
        outputs.insert(file, path);
    }
    let main = match (extension(out).as_str(), quality.has_alpha()) {
        ("png", _) if !outputs.is_empty() => {
            let message = "an output .png is a single still; use an output that ends in .mp4 to write further files";
            return Err(Usage(message.to_owned()).into());
        }
        ("png", _) => OutputFile::FullPoster,
        ("mov", true) | ("mp4", false) => OutputFile::Video,
        ("mov", false) => {
            let message = format!("a .mov has quality pro, not {}; use an output that ends in .mp4", quality.as_str());
            return Err(Usage(message).into());
        }
        ("mp4", true) => return Err(Usage("quality pro needs an output that ends in .mov".to_owned()).into()),
        ("zip", _) => {
            let message =
                "a .zip holds a dataset; leave out --output video, or use an output that ends in .mp4 or .png";
            return Err(Usage(message.to_owned()).into());
        }
        _ => {
            let message =
                format!("{} must end in .mp4, .mov, .png or .zip; a folder needs --output dataset", out.display());
            return Err(Usage(message).into());
        }
    };
    outputs.insert(main, out.clone());
    check_places(&outputs)?;
    Ok((outputs, DatasetOptions::default()))
}

/// Returns the options of a dataset.
/// Errors: [`Usage`] if the name of the output or a flag does not fit a dataset; another error if the output cannot be
/// written to its path, or the cameras cannot be read.
fn dataset(args: &ArgMatches, path: &Path, settings: &RenderSettings) -> Result<DatasetOptions> {
    if !matches!(extension(path).as_str(), "zip" | "") && !path.is_dir() {
        return Err(Usage(format!("the output of a dataset must be a .zip or a folder, not {}", path.display())).into());
    }
    if args.get_flag("all") || beside().any(|(file, _help)| args.contains_id(&flag(file))) {
        return Err(Usage("a dataset has no other outputs; render them with a separate command".to_owned()).into());
    }
    if args.get_flag("hash") {
        let message = "--hash applies to videos only; the manifest.json of a dataset has a hash of each file";
        return Err(Usage(message.to_owned()).into());
    }
    check_folder(path)?;
    check_dataset_target(path)?;
    let views = match args.get_one::<PathBuf>("cameras") {
        None => None,
        Some(_file) if args.contains_id("coverage") => {
            let message = "--coverage spreads cameras evenly, but --cameras names them; leave one of the flags out";
            return Err(Usage(message.to_owned()).into());
        }
        Some(file) => {
            let shown = || file.display().to_string();
            let text = super::read_text(file)?;
            Some(read_cameras(&text, settings.dataset().quality.side()).with_context(shown)?)
        }
    };
    Ok(DatasetOptions { views, splits: args.get_flag("split") })
}

/// Returns an error if the folder of an output does not exist. Called before the render, so that no work is lost.
fn check_folder(path: &Path) -> Result<()> {
    match named_folder(path).filter(|p| !p.is_dir()) {
        Some(missing) => anyhow::bail!("the folder {} does not exist; create it first", missing.display()),
        None => Ok(()),
    }
}

/// Returns the folder of a path, or `None` if it is the current one.
fn named_folder(path: &Path) -> Option<&Path> {
    path.parent().filter(|p| !p.as_os_str().is_empty())
}

/// Returns the path of an output without links and `..` in its folder. An output that is a link itself is not followed,
/// because the render replaces the link.
fn place(path: &Path) -> Result<PathBuf> {
    let folder = named_folder(path).unwrap_or(Path::new("."));
    let found = folder.canonicalize().with_context(|| format!("{} cannot be read", folder.display()))?;
    Ok(found.join(path.file_name().unwrap_or_default()))
}

/// Returns an error if an output is an existing folder, or if two outputs are the same file. Called before the render.
fn check_places(outputs: &OutputPaths) -> Result<()> {
    let mut known = Vec::new();
    for path in outputs.values() {
        check_folder(path)?;
        if path.is_dir() {
            return Err(Usage(format!("{} is a folder; name a file in it", path.display())).into());
        }
        let place = place(path)?;
        if known.contains(&place) {
            return Err(Usage(format!("{} is the name of two outputs; give each its own name", path.display())).into());
        }
        known.push(place);
    }
    Ok(())
}
