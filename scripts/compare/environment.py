"""Generates the default environment: a studio with soft boxes in a dim room."""

import numpy as np

WIDTH, HEIGHT = 512, 256
# Each soft box: direction (x, y, z; +Y up), half width and half height in radians, radiance.
BOXES = [((0.6, 0.5, 0.7), 0.5, 0.35, 7.0), ((-0.9, 0.25, 0.3), 0.25, 0.5, 3.0), ((0.1, 0.3, -1.0), 0.7, 0.2, 4.0),
         ((0, 1, 0.05), 0.6, 0.6, 2.5)]
ROOM = 0.25


def write(path):
    """Writes the environment as a Radiance file with uncompressed 32-bit RGBE texels."""
    v, u = (np.mgrid[0:HEIGHT, 0:WIDTH] + 0.5) / np.array([HEIGHT, WIDTH]).reshape(2, 1, 1)
    polar, azimuth = v * np.pi, (u - 0.5) * 2 * np.pi
    direction = np.stack([np.sin(polar) * np.cos(azimuth), np.cos(polar), np.sin(polar) * np.sin(azimuth)], -1)
    light = np.full((HEIGHT, WIDTH), ROOM)
    for towards, half_width, half_height, radiance in BOXES:
        towards = np.array(towards) / np.linalg.norm(towards)
        right = np.cross([0, 1, 0], towards)
        right /= np.linalg.norm(right)
        across, up, ahead = direction @ right, direction @ np.cross(towards, right), direction @ towards
        inside = (ahead > 0) & (np.abs(across) < ahead * np.tan(half_width)) & (np.abs(up) < ahead * np.tan(half_height))
        light[inside] = radiance
    # The light is slightly warm from above and cool from below, so that a wrong rotation is visible.
    rgb = light[..., None] * (1 + 0.1 * direction[..., 1:2] * np.array([1, 0, -1]))
    exponent = np.ceil(np.log2(rgb.max(-1, keepdims=True)))
    mantissa = np.clip(rgb / np.exp2(exponent) * 256, 0, 255)
    texels = np.concatenate([mantissa, exponent + 128], -1).astype(np.uint8)
    head = f"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {HEIGHT} +X {WIDTH}\n"
    path.write_bytes(head.encode() + texels.tobytes())
