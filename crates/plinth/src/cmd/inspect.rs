//! `plinth inspect`: what is in a model.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use plinth_model::{Inventory, LoadOptions};

pub(crate) fn command() -> Command {
    Command::new("inspect")
        .about("Says what is in a model: animations, names, triangles, textures, extensions")
        .arg(
            Arg::new("model")
                .value_name("MODEL")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("A .glb file, or a .zip with one OBJ"),
        )
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print one JSON object"))
}

pub(crate) fn run(args: &ArgMatches) -> Result<()> {
    let path: &PathBuf = args.get_one("model").context("MODEL is missing")?;
    let bytes = super::render::read_model(path)?;
    let inventory = plinth_model::inspect(&bytes, &LoadOptions::default())?;
    if args.get_flag("json") {
        println!("{}", serde_json::to_string_pretty(&inventory)?);
    } else {
        print(&inventory);
    }
    Ok(())
}

fn print(inventory: &Inventory) {
    println!("triangles   {}", inventory.triangles);
    println!("vertices    {}", inventory.vertices);
    println!("generator   {}", inventory.generator.as_deref().unwrap_or("unknown"));
    println!("meshes      {}", inventory.mesh_names.join(", "));
    println!("materials   {}", inventory.material_names.join(", "));
    for clip in &inventory.animations {
        println!("animation   {} ({:.2} s, {} channels)", clip.name, clip.duration, clip.channels);
    }
    for texture in &inventory.textures {
        let name = texture.name.as_deref().unwrap_or("unnamed");
        println!("texture     {name} ({} {}×{})", texture.format, texture.width, texture.height);
    }
    println!("extensions  {}", inventory.extensions_used.join(", "));
    for warning in &inventory.warnings {
        println!("warning     {warning}");
    }
}
