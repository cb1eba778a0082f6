//! Decodes animation clips.

use crate::accessor::Reader;
use crate::error::{ModelError, Result};
use crate::limits::check;
use crate::model::{Animation, Channel, Interpolation, Property};
use crate::source::{Source, cut_name, given_name, shortened};

/// Decodes all animation clips. `model_index` maps node indices of the document to node indices of the model. Channels
/// of nodes that are not part of the model are dropped. `target_count` returns the number of morph targets of a node,
/// given its index in the document.
pub(crate) fn clips(
    source: &Source<'_>,
    model_index: &[Option<usize>],
    target_count: impl Fn(usize) -> usize,
) -> Result<Vec<Animation>> {
    let mut total = 0;
    let mut out = Vec::with_capacity(source.root.animations.len());
    for (i, animation) in source.root.animations.iter().enumerate() {
        let mut clip = Animation {
            name: given_name(animation.name.as_deref())
                .map_or_else(|| format!("animation_{i}"), |name| cut_name(name).to_owned()),
            ..Animation::default()
        };
        for (k, channel) in animation.channels.iter().enumerate() {
            let location = format!("animations[{i}].channels[{k}]");
            let Some(decoded) = read_channel(source, &location, animation, channel, model_index, &target_count)? else {
                continue;
            };
            total += decoded.values.len() as u64;
            check("animation values", total, source.limits.animation_values)?;
            clip.duration = clip.duration.max(decoded.times.last().copied().unwrap_or(0.0));
            clip.channels.push(decoded);
        }
        out.push(clip);
    }
    Ok(out)
}

fn read_channel(
    source: &Source<'_>,
    location: &str,
    animation: &crate::json::Animation,
    channel: &crate::json::Channel,
    model_index: &[Option<usize>],
    target_count: &impl Fn(usize) -> usize,
) -> Result<Option<Channel>> {
    let invalid = |problem: String| ModelError::invalid(location, problem);
    let Some(sampler) = animation.samplers.get(channel.sampler) else {
        return Err(invalid(format!("sampler {} does not exist", channel.sampler)));
    };
    let Some(property) = property(source, &channel.target.path) else { return Ok(None) };
    let Some(node) = channel.target.node else { return Ok(None) };
    let Some(mapped) = model_index.get(node) else { return Err(invalid(format!("node {node} does not exist"))) };
    let components = match property {
        Property::Translation | Property::Scale => 3,
        Property::Rotation => 4,
        Property::Weights => target_count(node),
    };
    let interpolation = match sampler.interpolation.as_deref() {
        None | Some("LINEAR") => Interpolation::Linear,
        Some("STEP") => Interpolation::Step,
        Some("CUBICSPLINE") => Interpolation::CubicSpline,
        Some(other) => {
            source.warn(&format!("{location}: unknown interpolation '{}', read as LINEAR", shortened(other)));
            Interpolation::Linear
        }
    };
    let times = Reader::open(source, sampler.input)?.vectors::<1>()?.into_iter().map(|[t]| t).collect::<Vec<f32>>();
    let values = Reader::open(source, sampler.output)?.finite_floats()?;
    let Some(mut values) = values else {
        source.warn(&format!("{location}: a value is not finite, so the channel is ignored"));
        return Ok(None);
    };
    if times.is_empty() {
        return Err(invalid("there are no keys".to_owned()));
    }
    if times.windows(2).any(|pair| pair[1] < pair[0]) {
        return Err(invalid("key times are not ascending".to_owned()));
    }
    let per_key = components * if interpolation == Interpolation::CubicSpline { 3 } else { 1 };
    if values.len() < times.len() * per_key {
        return Err(invalid(format!("{} keys but only {} values", times.len(), values.len() / per_key.max(1))));
    }
    let Some(node) = *mapped else { return Ok(None) };
    if components == 0 {
        return Ok(None);
    }
    values.truncate(times.len() * per_key);
    Ok(Some(Channel { node, property, interpolation, times, values }))
}

/// Returns the property that a channel animates. If the property is unknown, adds a warning and returns `None`.
fn property(source: &Source<'_>, path: &str) -> Option<Property> {
    match path {
        "translation" => Some(Property::Translation),
        "rotation" => Some(Property::Rotation),
        "scale" => Some(Property::Scale),
        "weights" => Some(Property::Weights),
        other => {
            let name = shortened(other);
            source.warn(&format!("animation channels with the path '{name}' are not supported and are ignored"));
            None
        }
    }
}
