//! Choosing an encoder.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use super::run::run;
use crate::MediaError;
use crate::ffmpeg::{EncoderChoice, H264Encoder, lists_encoders};

/// What came of trying a hardware encoder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// It made what it should.
    Works,
    /// This ffmpeg was built without it, so it was not tried.
    NotBuiltIn,
    /// It did not, for this reason.
    Fails(String),
}

/// A hardware encoder that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EncoderTrial {
    /// Which one.
    pub encoder: H264Encoder,
    /// What came of it.
    pub outcome: Outcome,
}

/// The encoder that is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EncoderFound {
    /// Which one.
    pub encoder: H264Encoder,
    /// What was tried to find it.
    pub trials: Vec<EncoderTrial>,
}

impl EncoderFound {
    /// Encoders that this ffmpeg has and that did not work, with the reasons.
    pub fn failures(&self) -> impl Iterator<Item = (H264Encoder, &str)> {
        self.trials.iter().filter_map(|trial| match &trial.outcome {
            Outcome::Fails(reason) => Some((trial.encoder, reason.as_str())),
            Outcome::Works | Outcome::NotBuiltIn => None,
        })
    }
}

/// Finds the encoder to use, which takes some seconds where hardware is to be tried: once in a process is enough. Setting
/// `cancel` ends it with [`MediaError::Stopped`].
/// Errors: ffmpeg is missing, or the one that is asked for does not work.
pub fn choose_encoder(program: &Path, choice: EncoderChoice, cancel: &AtomicBool) -> Result<EncoderFound, MediaError> {
    let candidates: &[H264Encoder] = match choice {
        EncoderChoice::Auto => &H264Encoder::HARDWARE,
        EncoderChoice::Only(encoder) if encoder.is_hardware() => &[encoder],
        EncoderChoice::Only(_) => &[],
    };
    let trials = try_until(program, candidates, |outcome| *outcome == Outcome::Works, cancel)?;
    decide_encoder(choice, trials)
}

/// Tries all hardware encoders.
/// Errors: ffmpeg is missing, or `cancel` became true.
pub fn try_encoders(program: &Path, cancel: &AtomicBool) -> Result<Vec<EncoderTrial>, MediaError> {
    try_until(program, &H264Encoder::HARDWARE, |_| false, cancel)
}

/// The encoder that a choice means after these trials.
/// Errors: [`MediaError::EncoderUnusable`].
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

/// Tries encoders in order, up to the first whose outcome suffices.
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
    fn auto_takes_the_first_that_works_and_else_libx264() {
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
    fn one_that_is_asked_for_is_never_replaced() {
        let only = EncoderChoice::Only(H264Encoder::Nvenc);
        for (outcome, said) in [
            (Outcome::Fails("no card".to_owned()), "h264_nvenc cannot be used on this machine: no card"),
            (Outcome::NotBuiltIn, "built without it"),
        ] {
            let works = trial(H264Encoder::Vaapi, Outcome::Works);
            let error = decide_encoder(only, vec![trial(H264Encoder::Nvenc, outcome), works]).unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
        }
    }
}
