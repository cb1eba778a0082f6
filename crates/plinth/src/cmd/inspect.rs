//! `plinth inspect`: lists the contents of a model.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{ArgMatches, Command};
use plinth_model::{Inventory, LoadOptions};

use super::plain;

pub(crate) fn command() -> Command {
    Command::new("inspect")
        .about("Lists the contents of a model: animations, names, triangles, lines, points, textures, extensions")
        .arg(super::model_arg())
        .arg(super::json_arg("Print a JSON object"))
}

pub(crate) fn run(args: &ArgMatches, out: &mut dyn Write) -> Result<()> {
    let path: &PathBuf = args.get_one("model").context("MODEL is missing")?;
    let (bytes, warnings) = super::render::read_model(path)?;
    let mut inventory =
        plinth_model::inspect(&bytes, &LoadOptions::default()).with_context(|| path.display().to_string())?;
    inventory.warnings.splice(0..0, warnings);
    if args.get_flag("json") {
        writeln!(out, "{}", serde_json::to_string_pretty(&inventory)?)?;
    } else {
        print(&inventory, out)?;
    }
    Ok(())
}

/// Maximum number of names in each list of the text output.
const NAMES: usize = 50;

/// Joins the first [`NAMES`] names, and adds the number of the remaining names.
fn some(names: &[String]) -> String {
    let (first, rest) = names.split_at(names.len().min(NAMES));
    match rest.len() {
        0 => first.join(", "),
        more => format!("{}, and {more} more (--json prints all)", first.join(", ")),
    }
}

fn print(inventory: &Inventory, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "triangles   {}", inventory.triangles)?;
    for (what, count) in [("lines", inventory.lines), ("points", inventory.points)] {
        if count > 0 {
            writeln!(out, "{what:<11} {count}")?;
        }
    }
    writeln!(out, "vertices    {}", inventory.vertices)?;
    writeln!(out, "generator   {}", plain(inventory.generator.as_deref().unwrap_or("unknown")))?;
    writeln!(out, "meshes      {}", plain(&some(&inventory.mesh_names)))?;
    writeln!(out, "materials   {}", plain(&some(&inventory.material_names)))?;
    for clip in &inventory.animations {
        writeln!(out, "animation   {} ({:.2} s, {} channels)", plain(&clip.name), clip.duration, clip.channels)?;
    }
    for texture in &inventory.textures {
        let name = plain(texture.name.as_deref().unwrap_or("unnamed"));
        writeln!(out, "texture     {name} ({} {}×{})", texture.format, texture.width, texture.height)?;
    }
    writeln!(out, "extensions  {}", plain(&inventory.extensions_used.join(", ")))?;
    for warning in &inventory.warnings {
        writeln!(out, "warning     {}", plain(warning))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_of_names_is_cut_and_counted() {
        let names: Vec<String> = (0..53).map(|i| format!("bolt {i}")).collect();
        assert_eq!(some(&names[..2]), "bolt 0, bolt 1");
        assert!(some(&names).ends_with("bolt 49, and 3 more (--json prints all)"));
        assert!(some(&names[..50]).ends_with("bolt 49"));
    }
}
