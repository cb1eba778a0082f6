//! Aligned layers of one dataset view.

/// The layers of one view: `width × height` values each, row 0 at the top, sampled at pixel centres.
#[derive(Clone, Debug, PartialEq)]
pub struct Layers {
    /// Index in the dataset, from 0.
    pub index: u32,
    pub width: u32,
    pub height: u32,
    /// sRGB-encoded colour with straight alpha (antialiased coverage), R, G, B, A.
    pub color: Vec<[u8; 4]>,
    /// Perpendicular distance of the first surface from the camera plane, in scene units; 0 where there is no surface.
    pub depth: Vec<f32>,
    /// Unit world-space normal of the first surface, facing the camera; zero where there is no surface.
    pub normal: Vec<[f32; 3]>,
}

impl Layers {
    /// Creates an empty view.
    pub fn nothing(width: u32, height: u32) -> Self {
        let count = width as usize * height as usize;
        Self {
            index: 0,
            width,
            height,
            color: vec![[0; 4]; count],
            depth: vec![0.0; count],
            normal: vec![[0.0; 3]; count],
        }
    }
}
