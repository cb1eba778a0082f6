//! Frames become files: MP4, MOV and PNG.
