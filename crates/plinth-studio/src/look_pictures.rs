//! Pictures of the looks that the program contains, drawn by `scripts/gallery/looks.py`.

macro_rules! pictures {
    ($($id:literal)*) => {
        [$((concat!($id, ".webp"), include_bytes!(concat!("../assets/looks/", $id, ".webp")).as_slice())),*]
    };
}

/// File name and content of each picture. The file name is the identifier of the look, followed by `.webp`.
pub(crate) const ALL: [(&str, &[u8]); 12] = pictures! {
    "pure-white" "soft-studio" "polished-floor" "midnight" "golden-hour" "cool-steel" "noir" "story" "pastel-square"
    "close-up" "neon" "comic"
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_picture_is_small() {
        for (name, bytes) in ALL {
            assert!(bytes.len() < 10_000, "{name}: {} bytes", bytes.len());
        }
    }

    #[test]
    fn every_look_of_the_program_has_a_picture() {
        let mut looks: Vec<String> =
            plinth_service::looks::built_in().iter().map(|look| format!("{}.webp", look.id)).collect();
        let mut pictures = ALL.map(|(name, _bytes)| name.to_owned());
        looks.sort();
        pictures.sort();
        assert_eq!(looks, pictures);
    }
}
