"""Scores a pair of pictures: `flip` is the visible difference; the other scores tell differences in lighting from other causes."""

import flip_evaluator
import numpy as np
from PIL import Image

# Channel difference from the background above which a pixel shows the model.
COVERED = 10 / 255
# Distance in pixels by which outlines may differ because of antialiasing and rounding.
OUTLINE_TOLERANCE = 2
# Radius in pixels of the neighbourhood of a pixel. The difference between a pixel and the mean of its neighbourhood is its detail.
LIGHT_RADIUS = 6
# Detail weaker than this (mean square of lightness) is noise.
LEAST_DETAIL = 4e-5

# Scores above these limits mean a difference in more than lighting.
LIMITS = {"outline": 0.01, "detail": 0.6, "colour": 0.05}


def load(path):
    return np.asarray(Image.open(path).convert("RGB"), np.float32) / 255


def score(first, second, background):
    """Returns the scores of two pictures (h, w, 3; sRGB in 0..1) with the same background ("#rrggbb"), and the map of FLIP errors.

    flip     mean FLIP error (Andersson et al. 2020), 0 to 1, over the pixels where either picture shows the model
    outline  fraction of these pixels where only one shows the model, more than OUTLINE_TOLERANCE from the outline of the other
    detail   1 minus the correlation of fine lightness (bumps, texture, edges) where both show the model; 0 equal, 1 unrelated
    colour   mean distance of chroma relative to lightness (OKLab)
    light    mean lightness of the second picture minus that of the first
    """
    errors = np.asarray(flip_evaluator.evaluate(first, second, "LDR", applyMagma=False)[0])[..., 0]
    shown = [covered(picture, background) for picture in (first, second)]
    either, both = shown[0] | shown[1], shown[0] & shown[1]
    area = max(int(either.sum()), 1)
    alone = [mine & ~grown(other, OUTLINE_TOLERANCE) for mine, other in (shown, shown[::-1])]
    out = {"flip": float(errors[either].mean()) if either.any() else 0.0,
           "outline": float((alone[0] | alone[1]).sum() / area), "detail": 0.0, "colour": 0.0, "light": 0.0}
    inner = ~grown(~both, OUTLINE_TOLERANCE)
    if inner.any():
        labs = [oklab(picture) for picture in (first, second)]
        out["detail"] = detail(labs[0][..., 0], labs[1][..., 0], inner)
        chroma = [local_mean(lab[..., 1:], inner) / np.maximum(local_mean(lab[..., :1], inner), 0.15) for lab in labs]
        out["colour"] = float(np.linalg.norm(chroma[0] - chroma[1], axis=-1)[inner].mean())
        out["light"] = float((labs[1][..., 0] - labs[0][..., 0])[inner].mean())
    return out, errors


def more_than_light(scores):
    """Returns the names of the scores above their limits."""
    return [name for name, limit in LIMITS.items() if scores[name] > limit]


def covered(picture, background):
    color = np.array([int(background[i : i + 2], 16) for i in (1, 3, 5)], np.float32) / 255
    return np.abs(picture - color).max(-1) > COVERED


def grown(mask, pixels):
    """Returns a mask dilated by a square whose side is 2 `pixels` + 1."""
    out = mask.copy()
    for axis in (0, 1):
        wide = out.copy()
        for step in range(1, pixels + 1):
            wide |= shifted(out, step, axis) | shifted(out, -step, axis)
        out = wide
    return out


def shifted(mask, step, axis):
    out = np.roll(mask, step, axis)
    edge = [slice(None), slice(None)]
    edge[axis] = slice(0, step) if step > 0 else slice(step, None)
    out[tuple(edge)] = False
    return out


def detail(first, second, where):
    fine = [lightness - local_mean(lightness[..., None], where)[..., 0] for lightness in (first, second)]
    a, b = (values[where] for values in fine)
    strengths = float((a * a).mean()), float((b * b).mean())
    if max(strengths) < LEAST_DETAIL:
        return 0.0
    if min(strengths) < LEAST_DETAIL / 4:
        return 1.0
    return float(1 - (a * b).mean() / np.sqrt(strengths[0] * strengths[1]))


def local_mean(values, where):
    """Returns the mean over the part of each neighbourhood that is inside of a mask; values are (h, w, channels)."""
    weights = where[..., None].astype(np.float32)
    return box(values * weights) / np.maximum(box(weights), 1e-6)


def box(values):
    """Returns the sums over squares whose side is 2 LIGHT_RADIUS + 1 pixels."""
    for axis in (0, 1):
        padding = [(0, 0)] * 3
        padding[axis] = (LIGHT_RADIUS + 1, LIGHT_RADIUS)
        sums = np.cumsum(np.pad(values, padding), axis, dtype=np.float64)
        width = 2 * LIGHT_RADIUS + 1
        later = np.take(sums, range(width, sums.shape[axis]), axis)
        earlier = np.take(sums, range(sums.shape[axis] - width), axis)
        values = later - earlier
    return values.astype(np.float32)


def oklab(picture):
    """Converts a picture to OKLab (Björn Ottosson, 2020, "A perceptual color space for image processing")."""
    linear = np.where(picture <= 0.04045, picture / 12.92, ((picture + 0.055) / 1.055) ** 2.4)
    cones = linear @ np.array(
        [[0.4122214708, 0.2119034982, 0.0883024619],
         [0.5363325363, 0.6806995451, 0.2817188376],
         [0.0514459929, 0.1073969566, 0.6299787005]]
    )
    return np.cbrt(cones) @ np.array(
        [[0.2104542553, 1.9779984951, 0.0259040371],
         [0.7936177850, -2.4285922050, 0.7827717662],
         [-0.0040720468, 0.4505937099, -0.8086757660]]
    )


def error_picture(errors):
    """Returns FLIP errors as colours, from black (no error) through red and yellow to white (the largest errors)."""
    steps = np.clip(errors[..., None] * 3 - np.array([0, 1, 2]), 0, 1)
    return Image.fromarray((steps * 255).astype(np.uint8))
