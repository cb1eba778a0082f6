//! Settings of datasets.

use crate::named::named;
use crate::quality::DatasetQuality;
use crate::settings::declare::objects;
use crate::settings::field::choice_or_default;

named! {
    /// The part of the sphere on which a dataset's cameras are.
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
        quality: DatasetQuality = "datasetQuality", choice_or_default::<DatasetQuality>(), "Number and size of a dataset's views.";
        coverage: Coverage = "coverage", choice_or_default::<Coverage>(), "Camera positions of a dataset: above the horizon, or all around the model.";
    }
}
