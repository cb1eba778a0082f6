//! Chooses an H.264 encoder.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use super::run::run;
use crate::MediaError;
use crate::ffmpeg::{EncoderChoice, H264Encoder, lists_encoders};

/// Result of testing a hardware encoder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// The encoder works, and its files are correct.
    Works,
    /// The encoder was not tested, because ffmpeg was built without it.
    NotBuiltIn,
    /// The encoder does not work. The value is the reason.
    Fails(String),
}

/// A hardware encoder and the result of its test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EncoderTrial {
    pub encoder: H264Encoder,
    pub outcome: Outcome,
}

/// The selected encoder, and the test results that led to the selection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EncoderFound {
    pub encoder: H264Encoder,
    /// Results of the tests, in the order in which the encoders were tested.
    pub trials: Vec<EncoderTrial>,
}

impl EncoderFound {
    /// Returns the encoders that ffmpeg contains but that failed their test, each with the reason.
    pub fn failures(&self) -> impl Iterator<Item = (H264Encoder, &str)> {
        self.trials.iter().filter_map(|trial| match &trial.outcome {
            Outcome::Fails(reason) => Some((trial.encoder, reason.as_str())),
            Outcome::Works | Outcome::NotBuiltIn => None,
        })
    }
}

/// Tests hardware encoders if the choice requires it, and returns the selected encoder. The tests take some seconds, so
/// a process should call this function only once. If `cancel` becomes true, the error is [`MediaError::Stopped`].
/// Errors: if ffmpeg is missing, or the requested encoder does not work.
pub fn choose_encoder(program: &Path, choice: EncoderChoice, cancel: &AtomicBool) -> Result<EncoderFound, MediaError> {
    let candidates: &[H264Encoder] = match choice {
        EncoderChoice::Auto => &H264Encoder::HARDWARE,
        EncoderChoice::Only(encoder) if encoder.is_hardware() => &[encoder],
        EncoderChoice::Only(_) => &[],
    };
    let trials = try_until(program, candidates, |outcome| *outcome == Outcome::Works, cancel)?;
    decide_encoder(choice, trials)
}

/// Tests all hardware encoders.
/// Errors: if ffmpeg is missing, or `cancel` became true.
pub fn try_encoders(program: &Path, cancel: &AtomicBool) -> Result<Vec<EncoderTrial>, MediaError> {
    try_until(program, &H264Encoder::HARDWARE, |_| false, cancel)
}

/// Returns the encoder that a choice selects, given the test results.
/// Errors: [`MediaError::EncoderUnusable`] if the requested encoder does not work.
pub fn decide_encoder(choice: EncoderChoice, trials: Vec<EncoderTrial>) -> Result<EncoderFound, MediaError> {
    let encoder = match choice {
        EncoderChoice::Only(encoder) if encoder.is_hardware() => {
            match trials.iter().find(|trial| trial.encoder == encoder).map(|trial| &trial.outcome) {
                Some(Outcome::Works) => encoder,
                Some(Outcome::Fails(reason)) => {
                    return Err(MediaError::EncoderUnusable { encoder, problem: reason.clone() });
                }
                Some(Outcome::NotBuiltIn) | None => {
                    let problem = "this ffmpeg was built without it".to_owned();
                    return Err(MediaError::EncoderUnusable { encoder, problem });
                }
            }
        }
        EncoderChoice::Only(encoder) => encoder,
        EncoderChoice::Auto => trials
            .iter()
            .find(|trial| trial.outcome == Outcome::Works)
            .map_or(H264Encoder::Libx264, |trial| trial.encoder),
    };
    Ok(EncoderFound { encoder, trials })
}

/// Tests encoders in order, and stops after the first test whose result satisfies `suffices`.
fn try_until(
    program: &Path,
    candidates: &[H264Encoder],
    suffices: impl Fn(&Outcome) -> bool,
    cancel: &AtomicBool,
) -> Result<Vec<EncoderTrial>, MediaError> {
    let mut trials = Vec::new();
    if candidates.is_empty() {
        return Ok(trials);
    }
    for (encoder, is_listed) in candidates.iter().copied().zip(lists_encoders(program, candidates)?) {
        let outcome = match is_listed.then(|| run(program, encoder, cancel)).transpose()? {
            None => Outcome::NotBuiltIn,
            Some(Ok(())) => Outcome::Works,
            Some(Err(reason)) => Outcome::Fails(reason),
        };
        let is_last = suffices(&outcome);
        trials.push(EncoderTrial { encoder, outcome });
        if is_last {
            break;
        }
    }
    Ok(trials)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(encoder: H264Encoder, outcome: Outcome) -> EncoderTrial {
        EncoderTrial { encoder, outcome }
    }

    #[test]
    fn auto_uses_the_first_encoder_that_works_or_libx264() {
        let failed = trial(H264Encoder::Nvenc, Outcome::Fails("no card".to_owned()));
        let works = trial(H264Encoder::Vaapi, Outcome::Works);
        let auto = |trials| decide_encoder(EncoderChoice::Auto, trials).unwrap();
        let found = auto(vec![failed.clone(), works]);
        assert_eq!(found.encoder, H264Encoder::Vaapi);
        assert_eq!(found.failures().collect::<Vec<_>>(), [(H264Encoder::Nvenc, "no card")]);
        assert_eq!(auto(vec![failed]).encoder, H264Encoder::Libx264);
        assert_eq!(auto(Vec::new()).encoder, H264Encoder::Libx264);
    }

    #[test]
    fn a_requested_encoder_is_never_replaced() {
        let only = EncoderChoice::Only(H264Encoder::Nvenc);
        for (outcome, message) in [
            (Outcome::Fails("no card".to_owned()), "h264_nvenc cannot be used on this machine: no card"),
            (Outcome::NotBuiltIn, "built without it"),
        ] {
            let works = trial(H264Encoder::Vaapi, Outcome::Works);
            let error = decide_encoder(only, vec![trial(H264Encoder::Nvenc, outcome), works]).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
        }
    }
}
