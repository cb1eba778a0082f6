//! The region of the picture that can differ from the backdrop in any frame of a video.
//!
//! Pixels outside this region equal the backdrop, so they are not drawn, resolved or copied from the device.

use glam::{Mat4, Vec3, Vec4};
use plinth_frame::Region;
use plinth_scene::Camera;

/// Returns the projection from view space to clip space, with the conventions of WebGPU: y points up, and depth is in
/// 0..1.
pub(crate) fn clip_from_view(camera: &Camera, aspect: f32) -> Mat4 {
    let f = 1.0 / (0.5 * camera.fov_y).tan();
    let depth = camera.far / (camera.near - camera.far);
    Mat4::from_cols(
        Vec4::new(f / (aspect * camera.pixel_aspect), 0.0, 0.0, 0.0),
        Vec4::new(0.0, f, 0.0, 0.0),
        Vec4::new(-camera.principal_point.x, -camera.principal_point.y, depth, -1.0),
        Vec4::new(0.0, 0.0, camera.near * depth, 0.0),
    )
}

/// Returns a transform that maps the region's part of clip space to the whole clip space.
pub(crate) fn crop(region: Region, width: u32, height: u32) -> Mat4 {
    let (w, h) = (width as f32, height as f32);
    let (rw, rh) = (region.width as f32, region.height as f32);
    let center_x = (2.0 * region.x as f32 + rw) / w - 1.0;
    let center_y = 1.0 - (2.0 * region.y as f32 + rh) / h;
    let (sx, sy) = (w / rw, h / rh);
    Mat4::from_cols(
        Vec4::new(sx, 0.0, 0.0, 0.0),
        Vec4::new(0.0, sy, 0.0, 0.0),
        Vec4::new(0.0, 0.0, 1.0, 0.0),
        Vec4::new(-center_x * sx, -center_y * sy, 0.0, 1.0),
    )
}

/// Returns the smallest region with even corners that contains the projections of all boxes for all cameras.
pub(crate) fn union(cameras: &[Camera], boxes: &[(Vec3, Vec3)], width: u32, height: u32) -> Region {
    let aspect = width as f32 / height as f32;
    let (mut low, mut high) = (glam::Vec2::splat(f32::MAX), glam::Vec2::splat(f32::MIN));
    for camera in cameras {
        let clip_from_world = clip_from_view(camera, aspect) * camera.view_from_world;
        for (min, max) in boxes {
            for corner in 0..8_u8 {
                let pick = |bit: u8, a: f32, b: f32| if corner & bit == 0 { a } else { b };
                let p = Vec3::new(pick(1, min.x, max.x), pick(2, min.y, max.y), pick(4, min.z, max.z));
                let clip = clip_from_world * p.extend(1.0);
                if clip.w <= 0.02 * camera.far {
                    return Region::whole(width, height);
                }
                let ndc = glam::Vec2::new(clip.x, clip.y) / clip.w;
                low = low.min(ndc);
                high = high.max(ndc);
            }
        }
    }
    if low.x > high.x {
        return Region { x: 0, y: 0, width: 2, height: 2 };
    }
    let (w, h) = (width as f32, height as f32);
    // The margin of four pixels is for antialiased edges. Chroma subsampling needs corners at even coordinates.
    let even_down = |v: f32, limit: u32| (((v - 4.0).max(0.0) as u32) & !1).min(limit.saturating_sub(2));
    let even_up = |v: f32, limit: u32| (((v + 4.0).max(2.0) as u32 + 1) & !1).min(limit);
    let x0 = even_down((low.x * 0.5 + 0.5) * w, width);
    let x1 = even_up((high.x * 0.5 + 0.5) * w, width);
    let y0 = even_down((0.5 - high.y * 0.5) * h, height);
    let y1 = even_up((0.5 - low.y * 0.5) * h, height);
    Region { x: x0, y: y0, width: x1.max(x0 + 2) - x0, height: y1.max(y0 + 2) - y0 }
}

/// Enlarges a region by `room` pixels on all sides, but not beyond the picture.
pub(crate) fn widened(part: Region, room: u32, width: u32, height: u32) -> Region {
    widened_within(part, room, Region::whole(width, height))
}

/// Enlarges a region by `room` pixels on all sides, but not beyond the region `all`.
pub(crate) fn widened_within(part: Region, room: u32, all: Region) -> Region {
    let room = room.next_multiple_of(2);
    let (x, y) = (part.x.saturating_sub(room).max(all.x), part.y.saturating_sub(room).max(all.y));
    let right = (part.x + part.width + room).min(all.x + all.width);
    let bottom = (part.y + part.height + room).min(all.y + all.height);
    Region { x, y, width: right - x, height: bottom - y }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn camera() -> Camera {
        Camera {
            view_from_world: Mat4::from_translation(Vec3::new(0.0, 0.0, -5.0)),
            position: Vec3::new(0.0, 0.0, 5.0),
            fov_y: 0.6,
            pixel_aspect: 1.0,
            principal_point: glam::Vec2::ZERO,
            near: 0.1,
            far: 20.0,
        }
    }

    #[test]
    fn cropping_maps_the_region_to_the_whole_target() {
        let region = Region { x: 100, y: 20, width: 60, height: 40 };
        let m = crop(region, 320, 180);
        let ndc = |px: f32, py: f32| Vec4::new(px / 160.0 - 1.0, 1.0 - py / 90.0, 0.5, 1.0);
        let top_left = m * ndc(100.0, 20.0);
        let bottom_right = m * ndc(160.0, 60.0);
        assert!((top_left - Vec4::new(-1.0, 1.0, 0.5, 1.0)).length() < 1e-5, "{top_left}");
        assert!((bottom_right - Vec4::new(1.0, -1.0, 0.5, 1.0)).length() < 1e-5, "{bottom_right}");
    }

    #[test]
    fn the_union_contains_a_centred_box_with_a_margin() {
        let unit = (Vec3::splat(-0.5), Vec3::splat(0.5));
        let region = union(&[camera()], &[unit], 320, 180);
        let middle = region.x * 2 + region.width;
        assert!(middle.abs_diff(320) <= 4, "{region:?}");
        assert!(region.width < 320 && region.height < 180, "{region:?}");
        assert!([region.x, region.y, region.width, region.height].iter().all(|v| v % 2 == 0), "{region:?}");
    }

    #[test]
    fn a_box_behind_the_camera_needs_the_whole_picture() {
        let around = (Vec3::splat(-9.0), Vec3::splat(9.0));
        assert_eq!(union(&[camera()], &[around], 320, 180), Region::whole(320, 180));
    }
}
