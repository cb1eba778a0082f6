// Tiles with edges are the tiles of a picture in which a pixel shows more than one triangle. Pixels outside these tiles
// have no second surface. Rust counterpart: `pass/edge_tiles.rs`.

// Side length of a tile in pixels.
const TILE_SIDE: u32 = 32u;
// Number of words of `edge_tiles` before the first tile. The first three words are the number of tiles in a row, the
// width of the picture and the height of the picture. The last tile of each row is outside the picture and has no
// edges.
const TILE_HEADER: u32 = 4u;
