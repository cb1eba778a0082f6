//! Vertices from whose number a fragment shader knows its triangle's.
//!
//! With flat interpolation a fragment gets the values of the triangle's first corner. Here vertex i is the first corner of
//! triangle i, and of no other, so that its index is the triangle's number. A closed mesh has twice as many vertices this
//! way. The builtin `primitive_index` would need none of it, but not all drivers have it, and lavapipe is slower with it than
//! with twice the vertices, because it copies the corners of every triangle first.

use crate::RenderError;
use crate::gpu::Gpu;
use crate::gpu_types::{PoseVertex, SurfaceVertex};
use crate::upload::geometry::filled;

/// The triangles of a batch with such vertices, on the device.
pub(crate) struct NumberedTriangles {
    /// In world space: x, y and z as 32-bit floats.
    pub(crate) positions: wgpu::Buffer,
    /// What the alpha of a material with holes is made of; none for other materials.
    pub(crate) surface: Option<wgpu::Buffer>,
    pub(crate) indices: wgpu::Buffer,
    /// Kept of a batch that moves.
    order: Option<Order>,
}

impl NumberedTriangles {
    /// `corners` has three indices into `pose` for each triangle. `surface`, as long as `pose`, is given for materials with
    /// holes.
    /// Errors: the adapter cannot hold them.
    pub(crate) fn new(
        gpu: &Gpu,
        pose: &[PoseVertex],
        surface: Option<&[SurfaceVertex]>,
        corners: &[u32],
        moving: bool,
    ) -> Result<Self, RenderError> {
        let order = Order::new(pose.len(), corners);
        let surface = surface.map(|surface| -> Vec<SurfaceVertex> {
            order.vertices.iter().map(|vertex| surface[*vertex as usize]).collect()
        });
        let vertex = wgpu::BufferUsages::VERTEX;
        let surface = surface.map(|surface| filled(gpu, "numbered surface", bytemuck::cast_slice(&surface), vertex));
        let indices = bytemuck::cast_slice(&order.corners);
        Ok(Self {
            positions: filled(gpu, "numbered positions", bytemuck::cast_slice(&order.positions(pose)), vertex)?,
            surface: surface.transpose()?,
            indices: filled(gpu, "numbered indices", indices, wgpu::BufferUsages::INDEX)?,
            order: moving.then_some(order),
        })
    }

    /// Writes the positions of a new pose of a batch that moves.
    pub(crate) fn update(&self, gpu: &Gpu, pose: &[PoseVertex]) {
        if let Some(order) = &self.order {
            gpu.queue.write_buffer(&self.positions, 0, bytemuck::cast_slice(&order.positions(pose)));
        }
    }

    /// Winds some triangles of a batch that moves the other way round.
    pub(crate) fn turn(&mut self, gpu: &Gpu, triangles: &[usize]) {
        if let Some(order) = &mut self.order {
            for triangle in triangles {
                order.corners.swap(3 * triangle + 1, 3 * triangle + 2);
            }
            gpu.queue.write_buffer(&self.indices, 0, bytemuck::cast_slice(&order.corners));
        }
    }
}

/// The vertices of a batch in the order of the triangles that they lead.
struct Order {
    /// For each vertex the one of the batch that it is, at least one a triangle.
    vertices: Vec<u32>,
    /// Three places in that list for each triangle, the first of which is the triangle's own number.
    corners: Vec<u32>,
}

impl Order {
    /// Each triangle is led by one of its corners that leads no other yet; where all do, its first corner is repeated.
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

    fn positions(&self, pose: &[PoseVertex]) -> Vec<[f32; 3]> {
        self.vertices.iter().map(|vertex| pose[*vertex as usize].position).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The triangles of an order in terms of the batch's vertices, each turned so that the least comes first.
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
    fn each_triangle_is_led_by_the_vertex_of_its_number_and_stays_as_it_was_wound() {
        // A strip; a fan, whose middle can lead only one; two triangles of the same corners; one without an area.
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
            // No vertex that no triangle needs.
            assert!((0..order.vertices.len() as u32).all(|place| order.corners.contains(&place)));
        }
    }

    #[test]
    fn a_closed_mesh_has_no_more_vertices_than_triangles() {
        // A torus: half as many vertices as triangles.
        let at = |i: u32, j: u32| i % 16 * 16 + j % 16;
        let corners: Vec<u32> = (0..256)
            .map(|n| (n / 16, n % 16))
            .flat_map(|(i, j)| [at(i, j), at(i + 1, j), at(i, j + 1), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)])
            .collect();
        assert_eq!(Order::new(256, &corners).vertices.len(), corners.len() / 3);
    }
}
