//! Gathered light on the device: at vertices on both sides, and on lattices over single triangles. Read by
//! `lib/gathered_light.wgsl`.

use bytemuck::{Pod, Zeroable};
use half::f16;
use plinth_bake::{BakedMesh, GatheredLight, LightGrid};

use super::geometry::filled;
use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;

/// Bits of a triangle's word that hold the level of its lattice.
const LEVEL_BITS: u32 = 4;

/// Bind group layout of a batch's gathered light.
pub(crate) fn light_layout(gpu: &Gpu) -> wgpu::BindGroupLayout {
    bindings::layout(&gpu.device, "gathered light", &[bindings::storage(0), bindings::storage(1)])
}

/// Light at one place, as words.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct LightSample {
    direct: [f16; 4],
    indirect: [f16; 4],
    visibility: [f16; 4],
    blocked: [f16; 4],
}

impl From<&GatheredLight> for LightSample {
    fn from(light: &GatheredLight) -> Self {
        let halves = |v: [f32; 4]| v.map(f16::from_f32);
        Self {
            direct: halves(light.direct.extend(0.0).to_array()),
            indirect: halves(light.indirect.extend(0.0).to_array()),
            visibility: halves(light.visibility),
            blocked: halves(light.blocked),
        }
    }
}

/// The light of a batch before it is uploaded.
#[derive(Clone, Default)]
pub(crate) struct LightDraft {
    /// One for each vertex.
    front: Vec<LightSample>,
    /// One for each vertex where any mesh of the batch is lit on both sides.
    back: Vec<LightSample>,
    /// Triangles with a lattice, in order.
    grids: Vec<LightGrid>,
}

impl LightDraft {
    /// Adds a mesh of so many vertices, whose triangles begin at a number.
    pub(crate) fn add(&mut self, baked: &BakedMesh, vertices: usize, first_triangle: usize) {
        let open = LightSample::from(&GatheredLight::default());
        let before = self.front.len();
        self.front.extend(baked.front.iter().map(LightSample::from));
        self.front.resize(before + vertices, open);
        if !baked.back.is_empty() {
            self.back.resize(before, open);
            self.back.extend(baked.back.iter().map(LightSample::from));
        }
        if !self.back.is_empty() {
            self.back.resize(before + vertices, open);
        }
        self.grids.extend(
            baked
                .grids
                .iter()
                .map(|grid| LightGrid { triangle: grid.triangle + first_triangle as u32, ..grid.clone() }),
        );
    }

    /// The light of some of the vertices and of the triangles in a range.
    pub(crate) fn part(&self, vertices: &[u32], triangles: std::ops::Range<usize>) -> Self {
        let chosen = |all: &[LightSample]| {
            if all.is_empty() { Vec::new() } else { vertices.iter().map(|v| all[*v as usize]).collect() }
        };
        let grids = self
            .grids
            .iter()
            .filter(|grid| triangles.contains(&(grid.triangle as usize)))
            .map(|grid| LightGrid { triangle: grid.triangle - triangles.start as u32, ..grid.clone() })
            .collect();
        Self { front: chosen(&self.front), back: chosen(&self.back), grids }
    }

    /// The bind group of the light of so many triangles.
    pub(crate) fn upload(
        self,
        gpu: &Gpu,
        layout: &wgpu::BindGroupLayout,
        triangles: usize,
    ) -> Result<wgpu::BindGroup, RenderError> {
        // The first word says where the light of back sides begins; then one for each triangle.
        let mut words = vec![0_u32; 1 + triangles];
        let mut samples = self.front;
        words[0] = if self.back.is_empty() { 0 } else { samples.len() as u32 };
        samples.extend(&self.back);
        for grid in &self.grids {
            words[1 + grid.triangle as usize] = (samples.len() as u32) << LEVEL_BITS | grid.lattice.level;
            samples.extend(grid.front.iter().map(LightSample::from));
            if words[0] != 0 {
                let back = if grid.back.is_empty() { &grid.front } else { &grid.back };
                samples.extend(back.iter().map(LightSample::from));
            }
        }
        let storage = wgpu::BufferUsages::STORAGE;
        let words = filled(gpu, "light words", bytemuck::cast_slice(&words), storage)?;
        let samples = filled(gpu, "light samples", bytemuck::cast_slice(&samples), storage)?;
        let entries = [words.as_entire_binding(), samples.as_entire_binding()];
        Ok(bindings::group(&gpu.device, "gathered light", layout, &entries))
    }
}
