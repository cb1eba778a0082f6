// Tiles of a picture with a pixel that shows more than one triangle; passes for second surfaces are drawn only there.
// Rust counterpart: `pass/edge_tiles.rs`.

// Side of a tile in pixels.
const TILE_SIDE: u32 = 32u;
// Words of `edge_tiles` before the tiles: the number of tiles in a row (the last is outside of the picture and has no
// edges), then the width and the height of the picture.
const TILE_HEADER: u32 = 4u;
