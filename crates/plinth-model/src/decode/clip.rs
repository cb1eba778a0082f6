//! Animation clips.

use crate::accessor::Reader;
use crate::error::{ModelError, Result};
use crate::limits::check;
use crate::model::{Animation, Channel, Interpolation, Property};
use crate::source::{Source, shortened};

/// All clips. `kept` maps nodes of the document to the model's; channels of nodes that are not kept are dropped.
/// `targets` gives the number of morph targets of a node of the document.
pub(crate) fn clips(
    source: &Source<'_>,
    kept: &[Option<usize>],
    targets: impl Fn(usize) -> usize,
) -> Result<Vec<Animation>> {
    let mut total = 0;
    let mut out = Vec::with_capacity(source.root.animations.len());
    for (i, animation) in source.root.animations.iter().enumerate() {
        let mut clip = Animation {
            name: animation.name.clone().unwrap_or_else(|| format!("animation_{i}")),
            ..Animation::default()
        };
        for (k, channel) in animation.channels.iter().enumerate() {
            let place = format!("animations[{i}].channels[{k}]");
            let Some(one) = read(source, &place, animation, channel, kept, &targets)? else { continue };
            total += one.values.len() as u64;
            check("animation values", total, source.limits.animation_values)?;
            clip.duration = clip.duration.max(one.times.last().copied().unwrap_or(0.0));
            clip.channels.push(one);
        }
        out.push(clip);
    }
    Ok(out)
}

fn read(
    source: &Source<'_>,
    place: &str,
    animation: &crate::json::Animation,
    channel: &crate::json::Channel,
    kept: &[Option<usize>],
    targets: &impl Fn(usize) -> usize,
) -> Result<Option<Channel>> {
    let fault = |problem: String| ModelError::invalid(place, problem);
    let Some(sampler) = animation.samplers.get(channel.sampler) else {
        return Err(fault(format!("sampler {} does not exist", channel.sampler)));
    };
    let Some(node) = channel.target.node else { return Ok(None) };
    let Some(kept) = kept.get(node) else { return Err(fault(format!("node {node} does not exist"))) };
    let (property, width) = match channel.target.path.as_str() {
        "translation" => (Property::Translation, 3),
        "rotation" => (Property::Rotation, 4),
        "scale" => (Property::Scale, 3),
        "weights" => (Property::Weights, targets(node)),
        _ => return Ok(None),
    };
    let interpolation = match sampler.interpolation.as_deref() {
        None | Some("LINEAR") => Interpolation::Linear,
        Some("STEP") => Interpolation::Step,
        Some("CUBICSPLINE") => Interpolation::CubicSpline,
        Some(other) => {
            source.warn(&format!("{place}: unknown interpolation '{}', read as LINEAR", shortened(other)));
            Interpolation::Linear
        }
    };
    let times = Reader::open(source, sampler.input)?.vectors::<1>()?.into_iter().map(|[t]| t).collect::<Vec<f32>>();
    let mut values = Reader::open(source, sampler.output)?.floats()?;
    if times.is_empty() {
        return Err(fault("there are no keys".to_owned()));
    }
    if times.windows(2).any(|pair| pair[1] < pair[0]) {
        return Err(fault("key times fall".to_owned()));
    }
    let per_key = width * if interpolation == Interpolation::CubicSpline { 3 } else { 1 };
    if values.len() < times.len() * per_key {
        return Err(fault(format!("{} keys but only {} values", times.len(), values.len() / per_key.max(1))));
    }
    let Some(node) = *kept else { return Ok(None) };
    if width == 0 {
        return Ok(None);
    }
    values.truncate(times.len() * per_key);
    Ok(Some(Channel { node, property, interpolation, times, values }))
}
