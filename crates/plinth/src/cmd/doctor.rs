//! `plinth doctor`: what this machine would render with.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Arg, ArgAction, ArgMatches, Command};
use plinth_render::{AdapterKind, AdapterReport, adapters};
use serde_json::json;

pub(crate) fn command() -> Command {
    Command::new("doctor")
        .about("Says what this machine would render with, and what to do where something is missing")
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print one JSON object"))
        .arg(super::render::ffmpeg_arg())
}

fn kind(adapter: &AdapterReport) -> &'static str {
    match adapter.kind {
        AdapterKind::Hardware => "hardware",
        AdapterKind::Software => "software",
    }
}

pub(crate) fn run(args: &ArgMatches) -> Result<()> {
    let found = adapters();
    let ffmpeg = args.get_one::<PathBuf>("ffmpeg").cloned().unwrap_or_else(|| PathBuf::from("ffmpeg"));
    let media = plinth_media::probe(&ffmpeg);
    let encodes = media.as_ref().is_ok_and(|m| m.h264 && m.prores);
    let works = !found.is_empty() && encodes;
    if args.get_flag("json") {
        let adapters: Vec<_> = found
            .iter()
            .map(|a| {
                json!({"name": a.name, "driver": a.driver, "kind": kind(a), "backend": a.backend,
                       "maxTextureSide": a.max_texture_side, "maxBufferBytes": a.max_buffer_bytes,
                       "maxSamples": a.max_samples})
            })
            .collect();
        let ffmpeg = match &media {
            Ok(m) => json!({"version": m.version, "h264": m.h264, "prores": m.prores}),
            Err(error) => json!({"error": error.to_string()}),
        };
        println!("{:#}", json!({"ready": works, "adapters": adapters, "ffmpeg": ffmpeg}));
    } else {
        print(&found, &media);
    }
    if !works {
        bail!("this machine cannot render yet");
    }
    Ok(())
}

fn print(found: &[AdapterReport], media: &Result<plinth_media::Capabilities, plinth_media::MediaError>) {
    if found.is_empty() {
        println!("adapter   none: install a Vulkan driver (apt-get install mesa-vulkan-drivers libvulkan1)");
    }
    for (i, adapter) in found.iter().enumerate() {
        let chosen = if i == 0 { "" } else { " (not used unless asked for)" };
        println!(
            "adapter   {}, {} {}, {}, textures to {} px, {}× antialiasing{chosen}",
            adapter.name,
            kind(adapter),
            adapter.backend,
            adapter.driver,
            adapter.max_texture_side,
            adapter.max_samples
        );
    }
    if found.first().is_some_and(|a| a.kind == AdapterKind::Software) {
        println!("          a software driver works but is slow; a graphics card with a Vulkan driver is faster");
    }
    match media {
        Err(error) => println!("ffmpeg    {error}"),
        Ok(m) => {
            println!("ffmpeg    {}", m.version);
            for (name, works) in [("libx264", m.h264), ("prores_ks", m.prores)] {
                let state = if works { "works" } else { "missing: install an ffmpeg built with it" };
                println!("encoder   {name} {state}");
            }
        }
    }
}
