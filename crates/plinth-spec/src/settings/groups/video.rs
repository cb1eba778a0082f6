//! Settings of the output.

use crate::named::named;
use crate::quality::{Aspect, Quality};
use crate::settings::declare::objects;
use crate::settings::field::{Field, choice_or_default, flag};
use crate::settings::shape::Shape;

named! {
    /// Kind of output.
    Output, default Video {
        /// A video.
        Video = "video",
        /// A multi-view dataset.
        Dataset = "dataset",
    }
}

objects! {
    /// Settings of the output.
    #[non_exhaustive]
    Video {
        quality: Quality = "quality", choice_or_default::<Quality>(), "Size, codec and price of the video.";
        output: Output = "output", choice_or_default::<Output>(), "Kind of output: a video, or a multi-view dataset.";
        aspect: Aspect = "aspect", choice_or_default::<Aspect>(), "Aspect ratio of the picture.";
        length_secs: f64 = "length", Field::of(Shape::Length).unit("s").or(6.0), "Length of the video. The maximum is 120 s, or 60 s with the quality `pro`.";
        strict_credits: bool = "strictCredits", flag(false), "The free credits do not pay for the render.";
    }
}
