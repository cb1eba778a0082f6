//! Prices of renders.

use serde::Serialize;

use crate::funding::{self, Balance, Cost, Pool};
use crate::quality::Quality;
use crate::settings::{Output, RenderSettings};

/// Returns the price of a video in credits. It is the price per second times the length in seconds, rounded up to a
/// whole credit, and at least 1.
pub fn video_credits(quality: Quality, length_secs: f64) -> u64 {
    let exact = f64::from(quality.credits_per_second()) * length_secs;
    // Lengths such as 0.1 s are not exact in binary, so the product may exceed a whole credit by a rounding error. The
    // error is subtracted before the product is rounded up.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "lengths are positive and bounded")]
    let credits = (exact - 1e-9).ceil().max(1.0) as u64;
    credits
}

/// Returns the price of a render in credits.
pub fn render_credits(settings: &RenderSettings) -> u64 {
    let video = settings.video();
    match video.output {
        Output::Video => video_credits(video.quality, video.length_secs),
        Output::Dataset => u64::from(settings.dataset().quality.credits()),
    }
}

/// Returns the price of a render, and whether only the paid pool may pay for it.
pub fn cost(settings: &RenderSettings) -> Cost {
    Cost { credits: render_credits(settings), strict: settings.video().strict_credits }
}

/// Price of one render in a quote.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum QuoteLine {
    /// A video.
    Video {
        /// Video quality.
        #[schema(examples("standard"))]
        quality: &'static str,
        /// Length in seconds.
        length: f64,
        /// Price in credits.
        credits: u64,
    },
    /// A dataset.
    Dataset {
        /// Dataset quality.
        #[serde(rename = "datasetQuality")]
        #[schema(examples("100x800"))]
        dataset_quality: &'static str,
        /// Price in credits.
        credits: u64,
    },
}

/// Price of a batch of renders, and whether the balance is sufficient for it.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Quote {
    /// Total price in credits.
    pub credits_required: u64,
    /// Sum of paid and free credits of the account.
    pub credits_available: u64,
    /// Whether the balance is sufficient for a batch of all these renders.
    pub sufficient: bool,
    /// Price of each render, in the order of the request.
    pub breakdown: Vec<QuoteLine>,
}

/// Returns the price of a batch of renders. One pool must pay the whole price of a render. Therefore the balance can be
/// insufficient although the sum of both pools exceeds the total price.
pub fn quote(renders: &[RenderSettings], balance: Balance) -> Quote {
    let costs: Vec<Cost> = renders.iter().map(cost).collect();
    let line = |settings: &RenderSettings| {
        let credits = render_credits(settings);
        let video = settings.video();
        match video.output {
            Output::Video => QuoteLine::Video { quality: video.quality.as_str(), length: video.length_secs, credits },
            Output::Dataset => {
                let set = settings.dataset().quality;
                QuoteLine::Dataset { dataset_quality: set.as_str(), credits }
            }
        }
    };
    Quote {
        credits_required: costs.iter().fold(0, |sum, cost| sum.saturating_add(cost.credits)),
        credits_available: balance.total(),
        sufficient: funding::decide(balance, &costs).is_ok(),
        breakdown: renders.iter().map(line).collect(),
    }
}

/// Returns how many renders of a batch the free pool would pay, so that they are watermarked. Returns 0 if the balance is
/// insufficient, because then none of the renders is created.
pub fn paid_by_free_pool(renders: &[RenderSettings], balance: Balance) -> usize {
    let costs: Vec<Cost> = renders.iter().map(cost).collect();
    let pools = funding::decide(balance, &costs).unwrap_or_default();
    pools.into_iter().filter(|pool| *pool == Pool::Free).count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::settings::ParseOptions;

    use super::*;

    #[test]
    fn a_default_render_costs_24_credits() {
        assert_eq!(render_credits(&RenderSettings::default()), 24);
    }

    #[test]
    fn prices_round_up_and_never_fall_below_one() {
        assert_eq!(video_credits(Quality::Share, 0.1), 1);
        assert_eq!(video_credits(Quality::Share, 1.01), 2);
        assert_eq!(video_credits(Quality::Standard, 0.3), 2);
        assert_eq!(video_credits(Quality::Pro, 60.0), 3840);
    }

    fn settings(value: &serde_json::Value) -> RenderSettings {
        RenderSettings::from_json(value, ParseOptions::default()).unwrap()
    }

    #[test]
    fn a_quote_lists_videos_and_datasets_and_accepts_aliases() {
        let renders = [
            settings(&json!({"quality": "4k", "videoLength": 2.5})),
            settings(&json!({"effect": "dataset", "datasetQuality": "196x1024"})),
            settings(&json!({})),
        ];
        let quote = quote(&renders, Balance { paid: 224, free: 0 });
        assert_eq!(
            serde_json::to_value(&quote).unwrap(),
            json!({
                "creditsRequired": 224, "creditsAvailable": 224, "sufficient": true,
                "breakdown": [
                    {"quality": "4k", "length": 2.5, "credits": 40},
                    {"datasetQuality": "196x1024", "credits": 160},
                    {"quality": "standard", "length": 6.0, "credits": 24},
                ],
            })
        );
    }

    #[test]
    fn a_render_that_no_pool_covers_alone_is_not_sufficient() {
        let quote = quote(&[settings(&json!({}))], Balance { paid: 20, free: 20 });
        assert!(!quote.sufficient);
        assert_eq!(quote.credits_available, 40);
    }

    #[test]
    fn the_free_pool_pays_for_renders_that_the_paid_pool_does_not_cover() {
        let renders = [settings(&json!({})), settings(&json!({})), settings(&json!({"quality": "share"}))];
        for (paid, free, expected) in [(54, 0, 0), (30, 24, 1), (5, 54, 3), (30, 23, 0)] {
            assert_eq!(paid_by_free_pool(&renders, Balance { paid, free }), expected, "{paid} and {free}");
        }
    }
}
