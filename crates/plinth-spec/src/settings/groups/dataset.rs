//! Settings of datasets.

use crate::named::named;
use crate::quality::DatasetQuality;
use crate::settings::declare::objects;
use crate::settings::field::choice_or_default;

named! {
    /// The part of a sphere around the model on which the cameras of a dataset are.
    Coverage, default Hemisphere {
        /// Above the horizon.
        Hemisphere = "hemisphere",
        /// All around the model.
        Sphere = "sphere",
    }
}

objects! {
    /// Settings of datasets.
    #[non_exhaustive]
    Dataset {
        quality: DatasetQuality = "datasetQuality", choice_or_default::<DatasetQuality>(), "Number of views of a dataset, and their size in pixels.";
        coverage: Coverage = "coverage", choice_or_default::<Coverage>(), "Camera positions of a dataset: above the horizon, or all around the model.";
    }
}
