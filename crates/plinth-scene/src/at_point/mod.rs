//! Finds the surfaces that are visible at a point of a frame, so that a user can select a part of the model by clicking
//! on a picture.

mod hit;
mod surfaces;
mod view;
