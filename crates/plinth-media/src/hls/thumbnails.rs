//! The thumbnail track. For each section of the video, it contains the position of a thumbnail on the sprite sheets.

use std::fmt::Write as _;

use super::sprite::{Grid, sprite_name};
use crate::container::Movie;

/// Maximum length in seconds of videos that have two thumbnails per second. Longer videos have one thumbnail per
/// second.
const DENSE_SECS: u32 = 60;

/// The cues of the thumbnail track. The video is divided into runs of frames, and each run has one cue with one
/// thumbnail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cues {
    /// Number of frames in each run. The last run may be shorter.
    step: u32,
    frames: u32,
}

impl Cues {
    /// Computes the cues for a video.
    pub(super) fn new(movie: &Movie) -> Self {
        let second = (f64::from(movie.timescale) / f64::from(movie.picture_units)).round().max(1.0) as u32;
        let is_dense = movie.pictures <= second.saturating_mul(DENSE_SECS);
        let step = if is_dense { second.div_ceil(2) } else { second };
        Self { step, frames: movie.pictures }
    }

    /// Returns the number of cues.
    pub(super) fn count(&self) -> u32 {
        self.frames.div_ceil(self.step)
    }

    /// Returns the index of the first frame of a cue.
    fn start(&self, cue: u32) -> u32 {
        (cue * self.step).min(self.frames)
    }

    /// Returns the index of the frame in the middle of a cue.
    fn middle(&self, cue: u32) -> u32 {
        u32::midpoint(self.start(cue), self.start(cue + 1))
    }

    /// Returns an expression for ffmpeg's filter `select` that selects the middle frame of each cue.
    pub(super) fn select(&self) -> String {
        let last = self.count() - 1;
        let (step, half) = (self.step, self.step / 2);
        format!("lt(n,{})*eq(mod(n,{step}),{half})+eq(n,{})", self.start(last), self.middle(last))
    }

    /// Returns the track as WebVTT. The text of a cue is the name of a sprite sheet and a rectangle on this sheet.
    pub(super) fn webvtt(&self, movie: &Movie, grid: Grid) -> String {
        let time = |cue| clock(u64::from(self.start(cue)) * u64::from(movie.picture_units), movie.timescale);
        let mut text = "WEBVTT\n".to_owned();
        for cue in 0..self.count() {
            let (sprite, x, y) = grid.place(cue);
            let (begin, end, name) = (time(cue), time(cue + 1), sprite_name(sprite));
            let _written =
                write!(text, "\n{begin} --> {end}\n{name}#xywh={x},{y},{},{}\n", grid.tile_width, grid.tile_height);
        }
        text
    }
}

/// Formats a time as `HH:MM:SS.mmm`.
fn clock(units: u64, timescale: u32) -> String {
    let scale = u64::from(timescale);
    let millis = (units * 1000 + scale / 2) / scale;
    let (hours, minutes) = (millis / 3_600_000, millis / 60_000 % 60);
    format!("{hours:02}:{minutes:02}:{:02}.{:03}", millis / 1000 % 60, millis % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn movie(pictures: u32) -> Movie {
        Movie { width: 960, height: 540, timescale: 30_000, picture_units: 1000, pictures }
    }

    #[test]
    fn each_cue_has_the_frame_in_its_middle() {
        let cues = Cues::new(&movie(37));
        let middles: Vec<u32> = (0..cues.count()).map(|cue| cues.middle(cue)).collect();
        assert_eq!(middles, [7, 22, 33]);
        assert_eq!(cues.select(), "lt(n,30)*eq(mod(n,15),7)+eq(n,33)");
    }

    #[test]
    fn one_frame_has_one_cue() {
        let cues = Cues::new(&movie(1));
        assert_eq!((cues.count(), cues.middle(0)), (1, 0));
        let text = cues.webvtt(&movie(1), Grid::new(960, 540));
        assert_eq!(text, "WEBVTT\n\n00:00:00.000 --> 00:00:00.033\nsprite-0.jpg#xywh=0,0,256,144\n");
    }

    #[test]
    fn long_videos_have_a_tile_each_second() {
        assert_eq!(Cues::new(&movie(60 * 30)).count(), 120);
        assert_eq!(Cues::new(&movie(120 * 30)).count(), 120);
    }

    #[test]
    fn times_are_formatted_with_hours_and_milliseconds() {
        assert_eq!(clock(3_661_500, 1000), "01:01:01.500");
    }
}
