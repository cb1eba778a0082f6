"""Models of materials: alpha, emission, unlit surfaces and extensions."""

import numpy as np
from PIL import Image

from glb import Glb
from shapes import bumps, grid, letter, png, quad, ramp, sphere

RED, GREEN, BLUE = (0.7, 0.08, 0.05, 1), (0.05, 0.5, 0.08, 1), (0.05, 0.1, 0.7, 1)


def alpha_ramp(side=64):
    image = letter(side).convert("RGBA")
    image.putalpha(ramp(side, 0, 255, "L"))
    return image


def mask_cutoffs():
    """A picture whose alpha rises to the right, with the cutoffs 0, 0.25, unset (0.5), 0.75, 1 and 1.1; then the same with factor 0.5."""
    g = Glb()
    t = g.texture(png(alpha_ramp()))
    cutoffs = [0, 0.25, None, 0.75, 1, 1.1]
    for cutoff, at in zip(cutoffs, grid(9, 3)):
        more = {} if cutoff is None else {"alphaCutoff": cutoff}
        g.put(quad(), g.material(texture=t, alphaMode="MASK", doubleSided=True, **more), at)
    for cutoff, at in zip((0.1, 0.25, 0.6), grid(9, 3)[6:]):
        material = g.material((1, 1, 1, 0.5), texture=t, alphaMode="MASK", alphaCutoff=cutoff, doubleSided=True)
        g.put(quad(), material, at)
    return g


def alpha_modes():
    """Alpha in factor and texture: ignored (OPAQUE), blended once and twice, over a red ball."""
    g = Glb()
    t = g.texture(png(alpha_ramp()))
    rows = [({}, t), ({"alphaMode": "BLEND"}, t), ({"alphaMode": "BLEND", "doubleSided": True}, t),
            ({}, None), ({"alphaMode": "BLEND"}, None), ({"alphaMode": "BLEND", "alphaCutoff": 0.9}, None)]
    for (more, texture), at in zip(rows, grid(6, 3)):
        g.put(quad(), g.material((1, 1, 1, 0.4), texture=texture, **more), at)
        g.put(sphere(0.2), g.material(RED), np.array(at) - (0, 0, 0.4))
    return g


def nested_glass():
    """Nested blended balls, single-sided and double-sided, and blended sheets behind each other."""
    g = Glb()
    for x, double in ((-1, False), (1, True)):
        for radius, color in ((0.2, RED), (0.4, GREEN), (0.6, BLUE)):
            material = g.material((*color[:3], 0.35), alphaMode="BLEND", doubleSided=double)
            g.put(sphere(radius), material, (x, 0.7, 0))
    for i, color in enumerate((RED, GREEN, BLUE)):
        material = g.material((*color[:3], 0.5), alphaMode="BLEND", doubleSided=True)
        g.put(quad(0.9), material, (0.25 * i - 0.25, -0.6 + 0.1 * i, 0.3 * i - 0.3))
    return g


def unlit():
    """Unlit surfaces with factor, texture, vertex colours, mask and blend; beside each, an emission that looks the same."""
    g = Glb()
    t = g.texture(png(alpha_ramp()))
    flat = {"KHR_materials_unlit": {}}
    colors = np.array([[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1], [1, 1, 1, 1]], np.float32)
    rows = [(quad(), dict(color=(0.5, 0.25, 0.1, 1), extensions=flat)), (quad(), dict(texture=t, extensions=flat)),
            ({**quad(), "COLOR_0": colors}, dict(extensions=flat)),
            (quad(), dict(texture=t, alphaMode="MASK", extensions=flat)),
            (quad(), dict(texture=t, alphaMode="BLEND", extensions=flat)),
            (quad(), dict(color=(0, 0, 0, 1), emissiveFactor=[0.5, 0.25, 0.1])),
            (quad(), dict(color=(0.5, 0.25, 0.1, 1), emissiveFactor=[1, 1, 1], extensions=flat)),
            (quad(), dict(color=(0, 0, 0, 1), emissiveFactor=[1, 1, 1], emissiveTexture={"index": t}))]
    for (shape, given), at in zip(rows, grid(8, 4)):
        g.put(shape, g.material(doubleSided=True, **given), at)
    return g


def emission():
    """Emission with a factor, with a texture without factor (dark), with texture and factor, and with the strengths 1, 2, 4, 10."""
    g = Glb()
    t = {"index": g.texture(png(letter()))}
    dark = (0, 0, 0, 1)
    strong = lambda s: {"KHR_materials_emissive_strength": {"emissiveStrength": s}}
    rows = [dict(emissiveFactor=[0.6, 0.2, 0.1]), dict(emissiveTexture=t), dict(emissiveTexture=t, emissiveFactor=[1, 1, 1]),
            dict(emissiveTexture=t, emissiveFactor=[1, 0, 0]), dict(emissiveFactor=[0.3, 0.1, 0.05], extensions=strong(2)),
            dict(emissiveFactor=[0.3, 0.1, 0.05], extensions=strong(4)),
            dict(emissiveFactor=[0.3, 0.1, 0.05], extensions=strong(10)),
            dict(emissiveTexture=t, emissiveFactor=[1, 1, 1], extensions=strong(3))]
    for given, at in zip(rows, grid(8, 4)):
        g.put(sphere(), g.material(dark, rough=1, **given), at)
    return g


def base_grid():
    """Balls of metal and of a dielectric with the roughness 0, 0.25, 0.5, 0.75, 1, and with colours that are not grey."""
    g = Glb()
    at = iter(grid(20, 5))
    for metal in (0, 1):
        for color in ((1, 1, 1, 1), (0.9, 0.4, 0.05, 1)):
            for rough in (0, 0.25, 0.5, 0.75, 1):
                g.put(sphere(0.45, 48, 24), g.material(color, rough, metal), next(at))
    return g


def extension_textures():
    """Each texture of an extension on a ball: its left half shows the effect, its right half does not."""
    g = Glb()
    half = Image.new("RGBA", (64, 64), (0, 0, 0, 0))
    half.paste((255, 255, 255, 255), (0, 0, 32, 64))
    t = {"index": g.texture(png(half))}
    along = Image.new("RGB", (64, 64), (255, 128, 255))
    along.paste((128, 255, 255), (32, 0, 64, 64))
    along = {"index": g.texture(png(along))}
    domes = {"index": g.texture(png(bumps()))}
    e = lambda name, **values: {"KHR_materials_" + name: values}
    rows = [
        (RED, 1, 0, e("clearcoat", clearcoatFactor=1, clearcoatTexture=t)),
        (RED, 1, 0, e("clearcoat", clearcoatFactor=1, clearcoatRoughnessFactor=1, clearcoatRoughnessTexture=t)),
        (RED, 1, 0, e("clearcoat", clearcoatFactor=1, clearcoatNormalTexture=domes)),
        ((0.1, 0.1, 0.1, 1), 1, 0, e("sheen", sheenColorFactor=[1, 0.5, 0.2], sheenRoughnessFactor=0.4, sheenColorTexture=t)),
        ((0.1, 0.1, 0.1, 1), 1, 0, e("sheen", sheenColorFactor=[1, 1, 1], sheenRoughnessFactor=1, sheenRoughnessTexture=t)),
        ((0, 0, 0, 1), 0.2, 0, e("specular", specularTexture=t)),
        ((0, 0, 0, 1), 0.2, 0, e("specular", specularColorFactor=[5, 2, 1], specularColorTexture=t)),
        ((1, 1, 1, 1), 0.2, 1, e("iridescence", iridescenceFactor=1, iridescenceTexture=t)),
        ((1, 1, 1, 1), 0.2, 1, e("iridescence", iridescenceFactor=1, iridescenceThicknessTexture=t)),
        ((1, 1, 1, 1), 0.05, 0, e("transmission", transmissionFactor=1, transmissionTexture=t)),
        ((1, 1, 1, 1), 0.05, 0, {**e("transmission", transmissionFactor=1), **e("volume", thicknessFactor=0.8,
            thicknessTexture=t, attenuationDistance=0.2, attenuationColor=[0.2, 0.8, 0.4])}),
        ((0.8, 0.8, 0.8, 1), 0.4, 1, e("anisotropy", anisotropyStrength=0.9, anisotropyTexture=along)),
        ((0.8, 0.8, 0.8, 1), 0.4, 1, e("anisotropy", anisotropyStrength=0.9, anisotropyRotation=0.8)),
        ((0, 0, 0, 1), 0.1, 0, e("ior", ior=2.4)),
        ((0, 0, 0, 1), 0.1, 0, e("ior", ior=0)),
        ((1, 1, 1, 1), 0.0, 0, {**e("transmission", transmissionFactor=1), **e("volume", thicknessFactor=0.8),
                                **e("dispersion", dispersion=5), **e("ior", ior=1.7)}),
    ]
    for (color, rough, metal, extensions), at in zip(rows, grid(16, 4)):
        g.put(sphere(0.45, 48, 24), g.material(color, rough, metal, extensions=extensions), at)
    return g


def unknown_extensions():
    """Unknown extensions on every kind of object, none of them required: shows a red ball."""
    g = Glb()
    g.put(sphere(), g.material(RED, extensions={"EXT_made_up": {"factor": 3}}), extensions={"EXT_made_up": {}})
    g.document["extensions"] = {"EXT_made_up": [1, 2, 3]}
    g.document["extras"] = {"anything": None}
    return g


MODELS = [mask_cutoffs, alpha_modes, nested_glass, unlit, emission, base_grid, extension_textures, unknown_extensions]
