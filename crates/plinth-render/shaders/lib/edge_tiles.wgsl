// The tiles of a picture in which some pixel shows more than one triangle: what is needed at edges alone is drawn there
// alone. Rust twin: `pass/edge_tiles.rs`.

// Side of a tile in pixels.
const TILE_SIDE: u32 = 32u;
// Words of `edge_tiles` before the tiles: tiles in a row (the last of which is outside of the picture and has no edges), and
// the picture's width and height.
const TILE_HEADER: u32 = 4u;
