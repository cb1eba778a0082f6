//! Loads files and says how it went.
#![expect(clippy::print_stdout, reason = "a command-line tool")]
fn main() {
    for path in std::env::args().skip(1) {
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let start = std::time::Instant::now();
        match plinth_model::load_glb(&bytes, &plinth_model::LoadOptions::default()) {
            Ok(m) => {
                let tris: usize = m
                    .nodes
                    .iter()
                    .filter_map(|n| n.mesh)
                    .flat_map(|i| &m.meshes[i].primitives)
                    .map(|p| p.indices.len() / 3)
                    .sum();
                println!(
                    "{:?} ok {path}: {} nodes {tris} triangles {} images {} clips {:?}",
                    start.elapsed(),
                    m.nodes.len(),
                    m.images.len(),
                    m.animations.len(),
                    m.warnings
                );
            }
            Err(e) => println!("{:?} ERR {path}: {e}", start.elapsed()),
        }
    }
}
