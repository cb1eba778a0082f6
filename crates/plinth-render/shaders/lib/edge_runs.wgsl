// Generates six vertices per tile, which cover all tiles with edges. In a horizontal run of such tiles, the six
// vertices of the first tile cover the whole run. The vertices of all other tiles are degenerate: all six are at one
// point. Needs the buffer `edge_tiles`.
#import lib/edge_tiles.wgsl

fn has_edges(tile: u32) -> bool {
#ifdef MARK
    // The marks of the previous frame are replaced, too.
    return (edge_tiles[TILE_HEADER + tile] | previous_edge_tiles[TILE_HEADER + tile]) != 0u;
#else
    return edge_tiles[TILE_HEADER + tile] != 0u;
#endif
}

// Returns the position of vertex `i` in clip space.
fn edge_run_corner(i: u32) -> vec2<f32> {
    let row_tiles = edge_tiles[0];
    let tile = i / 6u;
    let row = tile / row_tiles;
    let first = tile % row_tiles;
    if !has_edges(tile) || (first > 0u && has_edges(tile - 1u)) {
        return vec2(-1.0, 1.0);
    }
    var length = 1u;
    while has_edges(tile + length) {
        length++;
    }
    // The corners of two triangles: first top left, bottom left, top right; then top right, bottom left, bottom right.
    let k = i % 6u;
    let is_right = k == 2u || k == 3u || k == 5u;
    let is_below = k == 1u || k == 4u || k == 5u;
    let corner = vec2(select(first, first + length, is_right), select(row, row + 1u, is_below)) * TILE_SIDE;
    let size = vec2(edge_tiles[1], edge_tiles[2]);
    return vec2<f32>(corner) / vec2<f32>(size) * vec2(2.0, -2.0) + vec2(-1.0, 1.0);
}
