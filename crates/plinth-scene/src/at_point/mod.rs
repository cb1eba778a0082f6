//! Finds the surfaces at a point of a frame, for people who point at a picture.

mod hit;
mod surfaces;
mod view;
