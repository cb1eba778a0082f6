//! Which views a dataset has.

use crate::named::named;
use crate::quality::DatasetQuality;
use crate::settings::declare::objects;
use crate::settings::field::choice_or_default;

named! {
    /// Where a dataset's views stand.
    Coverage, default Hemisphere {
        /// Above the horizon.
        Hemisphere = "hemisphere",
        /// All around.
        Sphere = "sphere",
    }
}

objects! {
    /// Which views a dataset has.
    #[non_exhaustive]
    Dataset {
        quality: DatasetQuality = "datasetQuality", choice_or_default::<DatasetQuality>(), "Number and size of a dataset's views.";
        coverage: Coverage = "coverage", choice_or_default::<Coverage>(), "Where a dataset's views stand: above the horizon, or all around.";
    }
}
