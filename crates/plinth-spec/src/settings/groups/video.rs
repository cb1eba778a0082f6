//! What is made.

use crate::named::named;
use crate::quality::{Aspect, Quality};
use crate::settings::declare::objects;
use crate::settings::field::{Field, choice_or_default, flag};
use crate::settings::shape::Shape;

named! {
    /// What is made.
    Output, default Video {
        /// A video.
        Video = "video",
        /// A multi-view dataset.
        Dataset = "dataset",
    }
}

objects! {
    /// What is made.
    #[non_exhaustive]
    Video {
        quality: Quality = "quality", choice_or_default::<Quality>(), "Size, codec and price of the video.";
        output: Output = "output", choice_or_default::<Output>(), "What is made: a video, or a multi-view dataset.";
        aspect: Aspect = "aspect", choice_or_default::<Aspect>(), "Shape of the picture.";
        length_secs: f64 = "length", Field::of(Shape::Length).unit("s").or(6.0), "Duration; up to 120 s, `pro` up to 60 s.";
        strict_credits: bool = "strictCredits", flag(false), "Never pay from the free pool.";
    }
}
