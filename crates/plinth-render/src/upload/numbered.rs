//! Orders the vertices of a pool so that a fragment shader can determine the number of its triangle.
//!
//! With flat interpolation, a fragment receives the values of the first corner of its triangle. Here, vertex i is the
//! first corner of triangle i and of no other triangle, so the index of the vertex is the number of the triangle. A
//! closed mesh has about twice as many vertices in this order as in the model. The builtin `primitive_index` would not
//! need this order, but some drivers do not support the builtin. On lavapipe, the builtin takes more time than twice as
//! many vertices, because lavapipe then copies the corners of every triangle.

use crate::RenderError;
use crate::gpu::Gpu;
use crate::gpu_types::{PoseVertex, SurfaceVertex};
use crate::upload::geometry::filled;

/// The triangles of a pool on the device. Vertex i is the first corner of triangle i.
#[derive(Clone)]
pub(crate) struct NumberedTriangles {
    /// World-space positions as three 32-bit floats.
    pub(crate) positions: wgpu::Buffer,
    /// Vertex attributes for the alpha test. `None` for materials without an alpha test.
    pub(crate) surface: Option<wgpu::Buffer>,
    pub(crate) indices: wgpu::Buffer,
    /// The order of the vertices. `None` if the pool does not move.
    order: Option<Order>,
}

impl NumberedTriangles {
    /// Uploads the triangles of a pool. `corners` has three indices into `positions` per triangle. `surface` contains
    /// the attributes for the alpha test, and has the same length as `positions`.
    /// Errors: if a buffer would be larger than the adapter allows.
    pub(crate) fn new(
        gpu: &Gpu,
        positions: &[[f32; 3]],
        surface: Option<&[SurfaceVertex]>,
        corners: &[u32],
        moving: bool,
    ) -> Result<Self, RenderError> {
        let order = Order::new(positions.len(), corners);
        let surface = surface.map(|surface| -> Vec<SurfaceVertex> {
            order.vertices.iter().map(|vertex| surface[*vertex as usize]).collect()
        });
        let vertex = wgpu::BufferUsages::VERTEX;
        let written = if moving { wgpu::BufferUsages::STORAGE } else { wgpu::BufferUsages::empty() };
        let surface = surface.map(|surface| filled(gpu, "numbered surface", bytemuck::cast_slice(&surface), vertex));
        let indices = bytemuck::cast_slice(&order.corners);
        let ordered = order.positions(|vertex| positions[vertex]);
        Ok(Self {
            positions: filled(gpu, "numbered positions", bytemuck::cast_slice(&ordered), vertex | written)?,
            surface: surface.transpose()?,
            indices: filled(gpu, "numbered indices", indices, wgpu::BufferUsages::INDEX)?,
            order: moving.then_some(order),
        })
    }

    /// Returns for each vertex its index in the pool. Returns `None` if the pool does not move.
    pub(crate) fn order(&self) -> Option<&[u32]> {
        self.order.as_ref().map(|order| order.vertices.as_slice())
    }

    /// Uploads the positions of a new pose. Has no effect if the pool does not move.
    pub(crate) fn update(&self, gpu: &Gpu, pose: &[PoseVertex]) {
        if let Some(order) = &self.order {
            let ordered = order.positions(|vertex| pose[vertex].position);
            gpu.write(&self.positions, 0, bytemuck::cast_slice(&ordered));
        }
    }

    /// Reverses the winding of some triangles. Has no effect if the pool does not move.
    pub(crate) fn turn(&mut self, gpu: &Gpu, triangles: &[usize]) {
        if let Some(order) = &mut self.order {
            for triangle in triangles {
                order.corners.swap(3 * triangle + 1, 3 * triangle + 2);
            }
            gpu.write(&self.indices, 0, bytemuck::cast_slice(&order.corners));
        }
    }
}

/// An order of vertices in which vertex i is the first corner of triangle i.
#[derive(Clone)]
struct Order {
    /// For each vertex of the order, its index in the pool. There is at least one vertex per triangle.
    vertices: Vec<u32>,
    /// Three indices into `vertices` per triangle. The first of them is the number of the triangle.
    corners: Vec<u32>,
}

impl Order {
    /// Chooses for each triangle a first corner that is not the first corner of another triangle. If all three corners
    /// of a triangle have been chosen for other triangles, the first of the three is duplicated.
    fn new(vertices: usize, corners: &[u32]) -> Self {
        const NOWHERE: u32 = u32::MAX;
        let mut place = vec![NOWHERE; vertices];
        let mut turned = corners.to_vec();
        let mut list: Vec<u32> = Vec::with_capacity(vertices.max(corners.len() / 3));
        for (number, triangle) in (0..).zip(turned.as_chunks_mut::<3>().0) {
            if let Some(k) = triangle.iter().position(|corner| place[*corner as usize] == NOWHERE) {
                triangle.rotate_left(k);
                place[triangle[0] as usize] = number;
            }
            list.push(triangle[0]);
        }
        for (number, triangle) in (0..).zip(turned.as_chunks_mut::<3>().0) {
            triangle[0] = number;
            for corner in &mut triangle[1..] {
                let place = &mut place[*corner as usize];
                if *place == NOWHERE {
                    *place = list.len() as u32;
                    list.push(*corner);
                }
                *corner = *place;
            }
        }
        Self { vertices: list, corners: turned }
    }

    /// Returns the positions in this order. `position` returns the position of a vertex of the pool.
    fn positions(&self, position: impl Fn(usize) -> [f32; 3]) -> Vec<[f32; 3]> {
        self.vertices.iter().map(|vertex| position(*vertex as usize)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the triangles as vertex indices of the pool. Each triangle is rotated so that its smallest index comes
    /// first.
    fn triangles(order: &Order) -> Vec<[u32; 3]> {
        let vertex = |place: u32| order.vertices[place as usize];
        order.corners.as_chunks::<3>().0.iter().map(|corners| least_first(corners.map(vertex))).collect()
    }

    fn least_first(mut triangle: [u32; 3]) -> [u32; 3] {
        let least = (0..3).min_by_key(|k| triangle[*k]).unwrap();
        triangle.rotate_left(least);
        triangle
    }

    #[test]
    fn the_first_corner_of_each_triangle_is_its_number_and_the_winding_is_kept() {
        // The triangles are a strip, a fan (whose centre can be the first corner of only one triangle), two triangles
        // with the same corners, and a triangle without an area.
        let strip: Vec<u32> =
            (0..20).flat_map(|i| if i % 2 == 0 { [i, i + 1, i + 2] } else { [i + 1, i, i + 2] }).collect();
        let fan: Vec<u32> = (1..9).flat_map(|i| [0, i, i % 8 + 1]).collect();
        for corners in [strip, fan, vec![0, 1, 2, 0, 1, 2, 2, 1, 0, 1, 2, 0], vec![3, 3, 3], Vec::new()] {
            let order = Order::new(22, &corners);
            let before: Vec<[u32; 3]> = corners.as_chunks::<3>().0.iter().map(|t| least_first(*t)).collect();
            assert_eq!(triangles(&order), before);
            for (number, triangle) in order.corners.as_chunks::<3>().0.iter().enumerate() {
                assert_eq!(triangle[0], number as u32);
            }
            // Every vertex is used.
            assert!((0..order.vertices.len() as u32).all(|place| order.corners.contains(&place)));
        }
    }

    #[test]
    fn a_closed_mesh_has_no_more_vertices_than_triangles() {
        // The mesh is a torus, which has half as many vertices as triangles.
        let at = |i: u32, j: u32| i % 16 * 16 + j % 16;
        let corners: Vec<u32> = (0..256)
            .map(|n| (n / 16, n % 16))
            .flat_map(|(i, j)| [at(i, j), at(i + 1, j), at(i, j + 1), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)])
            .collect();
        assert_eq!(Order::new(256, &corners).vertices.len(), corners.len() / 3);
    }
}
