//! Scores that compare how much worker time accounts have used. Worker time counts less the longer ago it was used.
//!
//! A score is the logarithm of a weighted sum of the used seconds. The weight of a used second depends on the time of
//! its use, and is fixed: a second counts twice as much as a second that was used one half-life earlier. Old seconds
//! lose influence because new seconds have larger weights. Therefore a stored sum stays valid while an account uses
//! nothing, and the sums of two accounts can be compared at any time (Cormode, Shkapenyuk, Srivastava and Xu, "Forward
//! Decay", ICDE 2009). The logarithm is stored, because the sum itself would overflow within days.

/// Half-life of the weight of used worker time, in seconds.
pub const HALF_LIFE_SECS: f64 = 600.0;
/// The score of an account that has never used worker time. Every other account has a higher score, because a score
/// grows with the time of the use: by 1 for each half-life since 1970.
pub const UNUSED: f64 = 0.0;

/// Returns the new score of an account after it has used `secs` seconds of worker time. `score` is the old score.
/// `at_ms` is the time at which the use ended, in milliseconds since 1970. Use of less than a millisecond is ignored.
pub fn score_after(score: f64, secs: f64, at_ms: i64) -> f64 {
    if secs < 0.001 {
        return score;
    }
    let used = at_ms as f64 / (HALF_LIFE_SECS * 1000.0) + secs.log2();
    let (more, less) = (used.max(score), used.min(score));
    more + (1.0 + (less - more).exp2()).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000_000;
    const HALF_LIFE_MS: i64 = 600_000;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn use_adds_up_and_is_halved_after_the_half_life() {
        let twice = score_after(score_after(UNUSED, 30.0, NOW), 30.0, NOW);
        assert!(near(twice, score_after(UNUSED, 60.0, NOW)));
        let old = score_after(UNUSED, 60.0, NOW - HALF_LIFE_MS);
        assert!(near(old, score_after(UNUSED, 30.0, NOW)));
        // The 60 s that were used one half-life ago count as 30 s. Another 30 s are added.
        assert!(near(score_after(old, 30.0, NOW), twice));
    }

    #[test]
    fn the_score_is_the_binary_logarithm_of_the_weighted_seconds() {
        let half_lives = (NOW / HALF_LIFE_MS) as f64;
        for (secs, logarithm) in [(0.25, -2.0), (1.0, 0.0), (2.0, 1.0), (1024.0, 10.0)] {
            assert!(near(score_after(UNUSED, secs, NOW), half_lives + logarithm), "{secs}");
        }
    }

    #[test]
    fn any_use_raises_the_score_and_zero_seconds_do_not() {
        assert!(score_after(UNUSED, 0.001, 1_000_000_000_000) > UNUSED);
        assert!(near(score_after(7.0, 0.0, NOW), 7.0));
    }

    #[test]
    fn use_of_ten_years_ago_does_not_count_and_nothing_overflows() {
        let years = 10 * 365 * 24 * 3_600_000;
        let later = score_after(score_after(UNUSED, 1e6, NOW), 1.0, NOW + years);
        assert!(near(later, score_after(UNUSED, 1.0, NOW + years)));
    }
}
