//! The images of one dataset view: colour, depth and normals.

/// The images of one dataset view, each with `width × height` values that are sampled at pixel centres. Row 0 is at the
/// top.
#[derive(Clone, Debug, PartialEq)]
pub struct Layers {
    /// Index of the view in the dataset, from 0.
    pub index: u32,
    pub width: u32,
    pub height: u32,
    /// sRGB-encoded colour with straight, antialiased alpha, in the order R, G, B, A.
    pub color: Vec<[u8; 4]>,
    /// Distance from the camera to the nearest surface, measured along the view direction, in scene units. 0 where no
    /// surface is visible.
    pub depth: Vec<f32>,
    /// Unit normal of the nearest surface in world space, facing the camera. Zero where no surface is visible.
    pub normal: Vec<[f32; 3]>,
}

impl Layers {
    /// Creates a view in which no surface is visible.
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
