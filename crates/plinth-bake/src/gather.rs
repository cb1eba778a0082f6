//! Casts the rays and lets the light bounce.

use std::f32::consts::{PI, TAU};

use glam::{Mat4, Vec3, Vec4};
use plinth_scene::EnvironmentMap;
use rayon::prelude::*;

use crate::bvh::{Bvh, TriangleId};
use crate::smooth::smooth;
use crate::types::{BakeLight, BakeMesh, BakeOptions, BakedVertex};
use crate::weld::{NONE, Receiver, Welded, weld};

/// Columns of the panorama that rays look up: light is gathered over wide angles.
const LOOKUP_WIDTH: u32 = 128;
/// How far rays start from their surface, in world units (the model spans 2).
const OFFSET: f32 = 1e-3;
/// Transparent surfaces that a ray passes, at most.
const MAX_PASSES: usize = 4;

/// What a ray found: the surface that stops it and its share of the light.
#[derive(Clone, Copy)]
struct Blocked {
    id: TriangleId,
    u: f32,
    v: f32,
    share: f32,
}

/// First pass over one receiver.
struct Gathered {
    direct: Vec3,
    open: Vec3,
    visibility: [f32; 4],
    blocked: Vec<Blocked>,
    beams: Vec3,
}

/// Gathers light for every vertex of every receiving mesh.
/// Shape: a list per mesh with an entry per vertex; empty for meshes that do not receive.
pub fn bake(
    meshes: &[BakeMesh],
    environment: &EnvironmentMap,
    lights: &[BakeLight],
    options: &BakeOptions,
) -> Vec<Vec<BakedVertex>> {
    let welded = weld(meshes);
    let scene = Scene {
        bvh: Bvh::new(triangles(meshes)),
        meshes,
        environment: reduced(environment),
        lights,
        samples: (options.ray_budget / welded.receivers.len().max(1)).clamp(options.min_samples, options.max_samples),
    };
    let first: Vec<Gathered> = welded.receivers.par_iter().map(|r| scene.gather(r)).collect();
    let indirect = bounce(&scene, &welded, &first, options.bounces);
    let mut baked: Vec<BakedVertex> = first
        .iter()
        .zip(indirect)
        .map(|(one, indirect)| BakedVertex {
            direct: Vec3::from_array(std::array::from_fn(|c| {
                if one.open[c] > 1e-6 { one.direct[c] / one.open[c] } else { 1.0 }
            })),
            indirect,
            visibility: one.visibility,
        })
        .collect();
    smooth(meshes, &welded, &mut baked);
    welded
        .of_vertex
        .iter()
        .zip(meshes)
        .map(|(of_vertex, mesh)| {
            let unused = BakedVertex { direct: Vec3::ONE, indirect: Vec3::ZERO, visibility: [1.0, 0.0, 0.0, 0.0] };
            let value = |r: &u32| baked.get(*r as usize).copied().unwrap_or(unused);
            if mesh.receives { of_vertex.iter().map(value).collect() } else { Vec::new() }
        })
        .collect()
}

fn triangles(meshes: &[BakeMesh]) -> impl Iterator<Item = ([Vec3; 3], TriangleId)> + '_ {
    meshes.iter().enumerate().filter(|(_, mesh)| mesh.occludes).flat_map(|(m, mesh)| {
        mesh.indices.as_chunks::<3>().0.iter().enumerate().map(move |(t, corners)| {
            let id = TriangleId { mesh: m as u32, triangle: t as u32 };
            (corners.map(|c| mesh.positions[c as usize]), id)
        })
    })
}

struct Scene<'a> {
    bvh: Bvh,
    meshes: &'a [BakeMesh],
    environment: EnvironmentMap,
    lights: &'a [BakeLight],
    samples: usize,
}

impl Scene<'_> {
    fn gather(&self, receiver: &Receiver) -> Gathered {
        let (tangent, bitangent) = receiver.normal.any_orthonormal_pair();
        let origin = receiver.position + receiver.normal * OFFSET;
        let (shift_u, shift_v) = shifts(receiver);
        let mut out = Gathered {
            direct: Vec3::ZERO,
            open: Vec3::ZERO,
            visibility: [0.0; 4],
            blocked: Vec::new(),
            beams: self.beams(receiver, origin),
        };
        let mut fit = VisibilityFit::default();
        for i in 0..self.samples {
            // The R2 sequence (Roberts 2018), shifted per receiver; cosine-distributed (Malley's method).
            let u = (shift_u + i as f32 * 0.754_877_7).fract();
            let v = (shift_v + i as f32 * 0.569_840_3).fract();
            let (sin, cos) = (u * TAU).sin_cos();
            let (r, z) = (v.sqrt(), (1.0 - v).sqrt());
            let direction = tangent * (r * cos) + bitangent * (r * sin) + receiver.normal * z;
            let light = self.environment.radiance(direction);
            let (through, blocked) = self.cast(origin, direction);
            out.open += light;
            out.direct += light * through;
            out.blocked.extend(blocked);
            fit.add(direction, through);
        }
        // Irradiance: π times the mean radiance of cosine-distributed directions.
        let scale = PI / self.samples as f32;
        out.direct *= scale;
        out.open *= scale;
        out.visibility = fit.solve();
        out
    }

    /// Follows a ray: the share of light that comes through, and the surface that blocks most of it.
    fn cast(&self, mut origin: Vec3, direction: Vec3) -> (f32, Option<Blocked>) {
        let mut through = 1.0_f32;
        let mut strongest: Option<Blocked> = None;
        for _ in 0..MAX_PASSES {
            let Some(hit) = self.bvh.intersect(origin, direction, OFFSET * 0.1) else { return (through, strongest) };
            let transparency = self.transparency(hit.id, hit.u, hit.v);
            let share = through * (1.0 - transparency);
            if strongest.is_none_or(|s| share > s.share) {
                strongest = Some(Blocked { id: hit.id, u: hit.u, v: hit.v, share });
            }
            through *= transparency;
            if through < 0.02 {
                return (0.0, strongest);
            }
            origin += direction * (hit.t + OFFSET);
        }
        (through, strongest)
    }

    fn transparency(&self, id: TriangleId, u: f32, v: f32) -> f32 {
        let mesh = &self.meshes[id.mesh as usize];
        if mesh.transparency.is_empty() {
            return 0.0;
        }
        let [a, b, c] = corners(mesh, id).map(|i| mesh.transparency[i]);
        (a * (1.0 - u - v) + b * u + c * v).clamp(0.0, 1.0)
    }

    /// Irradiance of the lights with a direction.
    fn beams(&self, receiver: &Receiver, origin: Vec3) -> Vec3 {
        self.lights
            .iter()
            .map(|light| {
                let (to_light, irradiance) = match *light {
                    BakeLight::Directional { to_light, irradiance } => (to_light, irradiance),
                    BakeLight::Point { position, intensity } => {
                        let offset = position - origin;
                        let distance2 = offset.length_squared().max(1e-4);
                        (offset / distance2.sqrt(), intensity / distance2)
                    }
                };
                let cosine = receiver.normal.dot(to_light);
                if cosine > 0.0 { irradiance * (cosine * self.cast(origin, to_light).0) } else { Vec3::ZERO }
            })
            .sum()
    }
}

/// Corner indices of a triangle.
fn corners(mesh: &BakeMesh, id: TriangleId) -> [usize; 3] {
    let at = id.triangle as usize * 3;
    [mesh.indices[at] as usize, mesh.indices[at + 1] as usize, mesh.indices[at + 2] as usize]
}

/// Two numbers in 0..1 that belong to a receiver's place, whatever mesh it is part of.
fn shifts(receiver: &Receiver) -> (f32, f32) {
    let mut state = 0x9E37_79B9_u32;
    for bits in receiver.position.to_array().map(|c| (c * 4096.0).round() as i32 as u32) {
        state = (state ^ bits).wrapping_mul(0x85EB_CA6B);
        state ^= state >> 13;
        state = state.wrapping_mul(0xC2B2_AE35);
        state ^= state >> 16;
    }
    ((state & 0xFFFF) as f32 / 65_536.0, (state >> 16) as f32 / 65_536.0)
}

/// Least squares of visibility over directions: `V(d) ≈ c0 + c·d`.
#[derive(Default)]
struct VisibilityFit {
    normal: Mat4Sum,
    right: Vec4,
}

#[derive(Default)]
struct Mat4Sum([Vec4; 4]);

impl VisibilityFit {
    fn add(&mut self, d: Vec3, visible: f32) {
        let basis = Vec4::new(1.0, d.x, d.y, d.z);
        for (column, weight) in self.normal.0.iter_mut().zip(basis.to_array()) {
            *column += basis * weight;
        }
        self.right += basis * visible;
    }

    fn solve(&self) -> [f32; 4] {
        let count = self.normal.0[0].x.max(1.0);
        // A little weight on «no slope» keeps few samples from tilting the fit.
        let ridge = count * 0.02;
        let mut columns = self.normal.0;
        columns[1].y += ridge;
        columns[2].z += ridge;
        columns[3].w += ridge;
        let solved = Mat4::from_cols(columns[0], columns[1], columns[2], columns[3]).inverse() * self.right;
        if solved.is_finite() { solved.to_array() } else { [self.right.x / count, 0.0, 0.0, 0.0] }
    }
}

/// Lets light bounce between the places that rays found (Goral et al. 1984), without new rays.
fn bounce(scene: &Scene<'_>, welded: &Welded, first: &[Gathered], bounces: usize) -> Vec<Vec3> {
    let own: Vec<Vec3> = first.iter().map(|g| g.direct + g.beams).collect();
    let mut indirect = vec![Vec3::ZERO; first.len()];
    let scale = PI / scene.samples as f32;
    for _ in 0..bounces {
        let radiance = |hit: &Blocked| {
            let mesh = &scene.meshes[hit.id.mesh as usize];
            let of_vertex = &welded.of_vertex[hit.id.mesh as usize];
            let at = |corner: usize| {
                let emitted = mesh.emission.get(corner).copied().unwrap_or(Vec3::ZERO);
                match of_vertex[corner] {
                    NONE => emitted,
                    r => emitted + mesh.albedo[corner] * (own[r as usize] + indirect[r as usize]) / PI,
                }
            };
            let [a, b, c] = corners(mesh, hit.id).map(at);
            (a * (1.0 - hit.u - hit.v) + b * hit.u + c * hit.v) * hit.share
        };
        indirect = first.par_iter().map(|g| g.blocked.iter().map(radiance).sum::<Vec3>() * scale).collect();
    }
    indirect
}

/// Averaged down to what wide angles need.
fn reduced(map: &EnvironmentMap) -> EnvironmentMap {
    let factor = (map.width / LOOKUP_WIDTH).max(1);
    if factor == 1 || map.height < factor {
        return map.clone();
    }
    let (width, height) = (map.width / factor, map.height / factor);
    let pixels = (0..width * height)
        .map(|i| {
            let (x0, y0) = (i % width * factor, i / width * factor);
            let mut sum = Vec3::ZERO;
            for y in y0..y0 + factor {
                for x in x0..x0 + factor {
                    sum += Vec3::from(map.pixels[(y * map.width + x) as usize]);
                }
            }
            (sum / (factor * factor) as f32).to_array()
        })
        .collect();
    EnvironmentMap { width, height, pixels }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn white() -> EnvironmentMap {
        EnvironmentMap { width: 16, height: 8, pixels: vec![[1.0; 3]; 128] }
    }

    /// A square grid in the plane z = `z`, facing `normal`.
    fn plane(size: f32, z: f32, normal: Vec3, albedo: Vec3) -> BakeMesh {
        let n = 9_u32;
        let at = |i: u32| (i as f32 / (n - 1) as f32 - 0.5) * size;
        let positions: Vec<Vec3> = (0..n * n).map(|i| Vec3::new(at(i % n), at(i / n), z)).collect();
        let indices = (0..(n - 1) * (n - 1))
            .flat_map(|i| {
                let a = i / (n - 1) * n + i % (n - 1);
                [a, a + 1, a + n, a + 1, a + n + 1, a + n]
            })
            .collect();
        BakeMesh {
            normals: vec![normal; positions.len()],
            albedo: vec![albedo; positions.len()],
            positions,
            indices,
            occludes: true,
            receives: true,
            ..BakeMesh::default()
        }
    }

    fn options() -> BakeOptions {
        BakeOptions { ray_budget: 1 << 20, ..BakeOptions::default() }
    }

    #[test]
    fn nothing_in_the_way_leaves_all_light() {
        let baked = bake(&[plane(1.0, 0.0, Vec3::Z, Vec3::ONE)], &white(), &[], &options());
        for v in &baked[0] {
            assert_eq!(v.direct, Vec3::ONE);
            assert_eq!(v.indirect, Vec3::ZERO);
            assert!((v.visibility[0] - 1.0).abs() < 1e-3, "{v:?}");
        }
    }

    #[test]
    fn a_wide_cover_close_by_takes_nearly_all_light_and_returns_its_colour() {
        let floor = plane(1.0, 0.0, Vec3::Z, Vec3::splat(0.5));
        let cover = plane(20.0, 0.1, Vec3::NEG_Z, Vec3::new(0.9, 0.1, 0.1));
        let baked = bake(&[floor, cover], &white(), &[], &options());
        let middle = baked[0][40];
        assert!(middle.direct.x < 0.05, "{middle:?}");
        assert!(middle.indirect.x >= middle.indirect.y, "{middle:?}");
    }

    #[test]
    fn half_a_sky_blocked_by_a_tall_wall_is_about_half() {
        // A wall in the plane x = 0 seen from a floor point right beside it.
        let floor = plane(0.02, 0.0, Vec3::Z, Vec3::ZERO);
        let mut wall = plane(40.0, 0.0, Vec3::X, Vec3::ZERO);
        wall.positions = wall.positions.iter().map(|p| Vec3::new(-0.02, p.x, p.y)).collect();
        let baked = bake(&[floor, wall], &white(), &[], &options());
        assert!((baked[0][40].direct.x - 0.5).abs() < 0.06, "{:?}", baked[0][40]);
    }

    #[test]
    fn the_number_of_threads_does_not_matter() {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let meshes = [plane(1.0, 0.0, Vec3::Z, Vec3::ONE), plane(1.0, 0.4, Vec3::NEG_Z, Vec3::ONE)];
            pool.install(|| bake(&meshes, &white(), &[], &options()))
        };
        assert_eq!(run(1), run(4));
    }

    #[test]
    fn glass_lets_its_share_through() {
        let floor = plane(0.5, 0.0, Vec3::Z, Vec3::ZERO);
        let mut glass = plane(40.0, 0.1, Vec3::NEG_Z, Vec3::ZERO);
        glass.transparency = vec![0.6; glass.positions.len()];
        let baked = bake(&[floor, glass], &white(), &[], &options());
        assert!((baked[0][40].direct.x - 0.6).abs() < 0.03, "{:?}", baked[0][40]);
    }
}
