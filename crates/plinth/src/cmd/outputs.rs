//! What `plinth render` writes, and where.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use plinth_pipeline::Outputs;
use plinth_spec::quality::Quality;

use super::Usage;

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
    let mut args =
        vec![path("out").short('o').required(true).help("OUT.mp4, OUT.mov (quality pro) or OUT.png (a still)")];
    args.extend(BESIDE.iter().map(|(flag, _, help)| path(flag).help(*help).help_heading("More outputs")));
    args.push(
        Arg::new("all")
            .long("all")
            .action(ArgAction::SetTrue)
            .help_heading("More outputs")
            .help("All four, as OUT.web.mp4, OUT.thumb.mp4, OUT.poster.png and OUT.small.png where they are not named"),
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

/// All outputs of a render of this quality.
/// Errors: [`Usage`] where names do not fit, or a folder that is missing.
pub(crate) fn outputs(args: &ArgMatches, quality: Quality) -> Result<Outputs> {
    let out = out(args)?;
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
            let words = format!("a .mov is quality pro, not {}; name the output .mp4", quality.name());
            return Err(Usage(words).into());
        }
        ("mp4", true) => return Err(Usage("quality pro is a .mov; name the output so".to_owned()).into()),
        _ => return Err(Usage(format!("{} must end in .mp4, .mov or .png", out.display())).into()),
    }
    check_places(&outputs)?;
    Ok(outputs)
}

/// Finds before the work what would fail after it.
fn check_places(outputs: &Outputs) -> Result<()> {
    let all = [&outputs.video, &outputs.web, &outputs.thumb, &outputs.poster, &outputs.small_poster];
    let mut known = Vec::new();
    for path in all.into_iter().flatten() {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        if let Some(missing) = folder.filter(|p| !p.is_dir()) {
            anyhow::bail!("the folder {} does not exist; make it first", missing.display());
        }
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
