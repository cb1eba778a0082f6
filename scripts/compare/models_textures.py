"""Models for textures: image formats, samplers, transforms, uses."""

import numpy as np
from PIL import Image, PngImagePlugin

from glb import Glb
from shapes import box, bumps, encoded, grid, joined, letter, png, quad, ramp, sphere, without

REPEAT, CLAMP, MIRROR = 10497, 33071, 33648
NEAREST, LINEAR = 9728, 9729
MIPMAPPED = (9984, 9985, 9986, 9987)


def sampler_wrap():
    """Nine combinations of wrap modes beyond 0..1: columns repeat, clamp, mirror in u; rows the same in v."""
    g, picture = Glb(), png(letter())
    modes = [(u, v) for v in (REPEAT, CLAMP, MIRROR) for u in (REPEAT, CLAMP, MIRROR)]
    for (u, v), at in zip(modes, grid(9, 3)):
        texture = g.texture(picture, wrapS=u, wrapT=v)
        g.put(quad(uv=((-1, -1), (2.5, 2.5))), g.material(texture=texture, doubleSided=True), at)
    return g


def sampler_filter():
    """Eight texels magnified (nearest, linear), then sixty-four repeats minified with each of six filters."""
    g = Glb()
    small = png(letter(8))
    for mag, at in zip((NEAREST, LINEAR), ((-1, 1, 0), (0, 1, 0))):
        texture = g.texture(small, magFilter=mag, minFilter=LINEAR)
        g.put(quad(), g.material(texture=texture, doubleSided=True), at)
    for mini, at in zip((NEAREST, LINEAR, *MIPMAPPED), grid(6, 3)):
        texture = g.texture(png(letter(64)), magFilter=LINEAR, minFilter=mini)
        shape = quad(uv=((0, 0), (24, 24)))
        g.put(shape, g.material(texture=texture, doubleSided=True), np.array(at) - (0, 1, 0))
    return g


def transform(texture, offset=(0.25, 0.1), rotation=0.5, scale=(2, 1.5), **more):
    return {"index": texture, "extensions": {
        "KHR_texture_transform": {"offset": list(offset), "rotation": rotation, "scale": list(scale), **more}}}


def texture_transform_slots():
    """KHR_texture_transform on every texture of the core and of the extensions; all textures are rotated by the same angle."""
    g = Glb()
    color, grey = g.texture(png(letter(256))), g.texture(png(letter(256, "L").convert("RGB")))
    data = g.texture(png(letter(256)))
    alpha = letter(256).convert("RGBA")
    alpha.putalpha(letter(256, "L"))
    alpha = g.texture(png(alpha))
    normal = g.texture(png(bumps()))
    t, one = transform, "KHR_materials_"
    materials = [
        dict(texture=t(color)),
        dict(rough=1, metal=1, orm=t(data)),
        dict(normalTexture=t(normal)),
        dict(occlusionTexture=t(data)),
        dict(color=(0, 0, 0, 1), emissiveFactor=[1, 1, 1], emissiveTexture=t(color)),
        dict(color=(0.2, 0, 0, 1), extensions={one + "clearcoat": {"clearcoatFactor": 1, "clearcoatTexture": t(grey)}}),
        dict(color=(0.2, 0, 0, 1), extensions={one + "clearcoat": {
            "clearcoatFactor": 1, "clearcoatRoughnessFactor": 1, "clearcoatRoughnessTexture": t(grey)}}),
        dict(extensions={one + "clearcoat": {"clearcoatFactor": 1, "clearcoatNormalTexture": t(normal)}}),
        dict(color=(0.1, 0.1, 0.1, 1), extensions={one + "sheen": {
            "sheenColorFactor": [1, 1, 1], "sheenRoughnessFactor": 0.5, "sheenColorTexture": t(color)}}),
        dict(color=(0, 0, 0, 1), rough=0.2, extensions={one + "specular": {"specularTexture": t(alpha)}}),
        dict(color=(0, 0, 0, 1), rough=0.2, extensions={one + "specular": {
            "specularColorFactor": [5, 5, 5], "specularColorTexture": t(color)}}),
        dict(rough=0.3, metal=1, extensions={one + "iridescence": {
            "iridescenceFactor": 1, "iridescenceTexture": t(data)}}),
        dict(rough=0.3, metal=1, extensions={one + "iridescence": {
            "iridescenceFactor": 1, "iridescenceThicknessTexture": t(data)}}),
        dict(rough=0.2, extensions={one + "transmission": {
            "transmissionFactor": 1, "transmissionTexture": t(data)}}),
        dict(rough=0.4, metal=1, extensions={one + "anisotropy": {
            "anisotropyStrength": 1, "anisotropyTexture": t(data)}}),
        dict(color=(0.02, 0.02, 0.02, 1), extensions={one + "sheen": {
            "sheenColorFactor": [1, 1, 1], "sheenRoughnessFactor": 1, "sheenRoughnessTexture": t(alpha)}}),
    ]
    for given, at in zip(materials, grid(16, 4)):
        orm = given.pop("orm", None)
        material = g.material(**given)
        if orm:
            g.document["materials"][material]["pbrMetallicRoughness"]["metallicRoughnessTexture"] = orm
            g.uses("KHR_texture_transform")
        g.put(sphere(), material, at)
    return g


def texture_coordinate_sets():
    """Rows: base colour, emission, occlusion. Columns: set 0, 1, 2, 3, and set 0 replaced by set 1 in KHR_texture_transform.

    Set k shows the texture k + 1 times.
    """
    g = Glb()
    sets = {f"TEXCOORD_{k}": quad(uv=((0, 0), (k + 1, k + 1)))["TEXCOORD_0"] for k in range(4)}
    at = iter(grid(15, 5))
    for slot in ("base", "emissiveTexture", "occlusionTexture"):
        # If a texture is used as colour in one place, three.js decodes it as colour everywhere, so each use has its own texture.
        t = g.texture(png(letter()))
        infos = [{"index": t, "texCoord": k} for k in range(4)] + [transform(t, (0, 0), 0, (1, 1), texCoord=1)]
        for info in infos:
            if slot == "base":
                material = g.material(texture=info)
            else:
                dark = (0, 0, 0, 1) if slot == "emissiveTexture" else (1, 1, 1, 1)
                material = g.material(dark, emissiveFactor=[float(slot == "emissiveTexture")] * 3, **{slot: info})
            g.put({**quad(), **sets}, material, next(at))
    return g


def mixed_coordinate_sets():
    """Quads whose base colour (the F) and emission (a ramp) use two of the four texture coordinate sets; the last uses one set for both."""
    g = Glb()
    color, light = g.texture(png(letter())), g.texture(png(ramp()))
    sets = {f"TEXCOORD_{k}": quad(uv=((0, 0), (k + 1, k + 1)))["TEXCOORD_0"] for k in range(4)}
    for (a, b), at in zip(((0, 1), (2, 3), (0, 2), (1, 3), (3, 0), (2, 2)), grid(6, 3)):
        base, glow = {"index": color, "texCoord": a}, {"index": light, "texCoord": b}
        material = g.material(texture=base, emissiveTexture=glow, emissiveFactor=[0, 0.6, 0.6])
        g.put({**quad(), **sets}, material, at)
    return g


def image_kinds():
    """One picture in every kind of PNG, JPEG and WebP: all fields show the same F, except that some kinds have fewer colours.

    Colour profiles, gamma and EXIF orientation are not applied: the fields 11, 12 and 16 show the pixels as they are stored.
    """
    g = Glb()
    picture = letter(96)
    clear = picture.convert("RGBA")
    clear.putalpha(ramp(96, 60, 255, "L"))
    gamma, profile = PngImagePlugin.PngInfo(), PngImagePlugin.PngInfo()
    gamma.add(b"gAMA", (100000).to_bytes(4, "big"))
    profile.add(b"cHRM", b"".join(v.to_bytes(4, "big") for v in (31270, 32900, 30000, 60000, 15000, 6000, 64000, 33000)))
    exif = Image.Exif()
    exif[0x0112] = 6
    grey16 = Image.fromarray((np.asarray(picture.convert("L")).astype(np.uint16) * 257))
    palette = picture.quantize(16)
    images = [
        (png(picture), "png"), (png(clear), "png"), (png(picture.convert("L")), "png"),
        (png(clear.convert("LA")), "png"), (png(grey16), "png"), (png16(picture), "png"),
        (png(palette), "png"), (png(palette, transparency=0), "png"), (png(picture.convert("1")), "png"),
        (interlaced(picture), "png"), (png(picture, pnginfo=gamma), "png"), (png(picture, pnginfo=profile), "png"),
        (encoded(picture, "JPEG", quality=95), "jpeg"), (encoded(picture, "JPEG", progressive=True), "jpeg"),
        (encoded(picture.convert("L"), "JPEG"), "jpeg"), (encoded(picture, "JPEG", exif=exif), "jpeg"),
        (encoded(picture.convert("CMYK"), "JPEG"), "jpeg"), (encoded(picture, "WEBP", lossless=True), "webp"),
        (encoded(clear, "WEBP", quality=90), "webp"), (png(letter(37).resize((37, 53))), "png"),
        (png(picture.resize((1, 1))), "png"), (png(picture.resize((97, 1))), "png"),
        (encoded(picture, "JPEG", subsampling=2, quality=60), "jpeg"), (png(picture, transparency=(250, 250, 250)), "png"),
        (encoded(picture, "JPEG", quality=95, icc_profile=swapped_profile()), "jpeg"),
    ]
    for (data, kind), at in zip(images, grid(25, 5)):
        material = g.material(texture=g.texture(data, f"image/{kind}"), alphaMode="BLEND", doubleSided=True)
        g.put(quad(), material, at)
    return g


def png16(image):
    """Returns a PNG with 16 bits per channel, which Pillow cannot write."""
    import struct
    import zlib

    rgb = np.asarray(image).astype(">u2") * 257
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in rgb)
    chunk = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    head = struct.pack(">IIBBBBB", image.width, image.height, 16, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def interlaced(image):
    """Returns an interlaced PNG (the seven passes of Adam7), which Pillow cannot write."""
    import struct
    import zlib

    pixels, rows = np.asarray(image), b""
    for x, y, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
        rows += b"".join(b"\0" + row.tobytes() for row in pixels[y::dy, x::dx])
    chunk = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    head = struct.pack(">IIBBBBB", image.width, image.height, 8, 2, 0, 0, 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def swapped_profile():
    """Returns an ICC profile that swaps red and blue, so that the picture shows whether profiles are applied."""
    from PIL import ImageCms

    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    red, blue = profile.find(b"rXYZ", 128), profile.find(b"bXYZ", 128)
    profile[red : red + 4], profile[blue : blue + 4] = b"bXYZ", b"rXYZ"
    return bytes(profile)


def linear_and_srgb():
    """The same ramp as base colour, emission, roughness, metal, occlusion, and as factors beside it."""
    g = Glb()
    t, data = g.texture(png(ramp(256))), g.texture(png(ramp(256)))
    strip = {**quad(3, 0.4)}
    rows = [
        dict(texture=t), dict(color=(0, 0, 0, 1), emissiveTexture={"index": t}, emissiveFactor=[1, 1, 1]),
        dict(rough=1, metal=1, orm=data), dict(occlusionTexture={"index": data}),
        dict(color=(0.5, 0.25, 0.1, 1), texture=t), dict(occlusionTexture={"index": data, "strength": 0.5}),
    ]
    for given, at in zip(rows, grid(6, 1, 0.45)):
        orm = given.pop("orm", None)
        material = g.material(**given)
        if orm is not None:
            g.document["materials"][material]["pbrMetallicRoughness"]["metallicRoughnessTexture"] = {"index": orm}
        g.put(strip, material, at)
    return g


def far_texture_coordinates():
    """The same picture at coordinates 0..1, 100..101, 4000..4001 and −50..−49."""
    g, texture = Glb(), None
    texture = g.texture(png(letter()))
    material = g.material(texture=texture)
    for start, at in zip((0, 100, 4000, -50), grid(4, 2)):
        g.put(quad(uv=((start, start), (start + 1, start + 1))), material, at)
    return g


def normal_maps():
    """Domes on quads: plain, scale 2, scale −1, mirrored in u, with tangents, mirrored with tangents, on a clearcoat."""
    g = Glb()
    t = g.texture(png(bumps()))
    plain = g.material(rough=0.4, normalTexture={"index": t})
    strong = g.material(rough=0.4, normalTexture={"index": t, "scale": 2})
    inverse = g.material(rough=0.4, normalTexture={"index": t, "scale": -1})
    coat = g.material((0.3, 0.02, 0.02, 1), extensions={"KHR_materials_clearcoat": {
        "clearcoatFactor": 1, "clearcoatNormalTexture": {"index": t}}})
    tangent = np.tile(np.array([1, 0, 0, 1], np.float32), (4, 1))
    mirrored = quad(uv=((1, 0), (0, 1)))
    shapes = [(quad(), plain), (quad(), strong), (quad(), inverse), (mirrored, plain),
              ({**quad(), "TANGENT": tangent}, plain), ({**mirrored, "TANGENT": -tangent}, plain), (quad(), coat),
              (sphere(), plain), (without(sphere(), "NORMAL"), plain)]
    for (shape, material), at in zip(shapes, grid(9, 3)):
        g.put(shape, material, at)
    return g


def textured_box():
    """A box with the letter F on each face, which shows rotated and mirrored textures."""
    g = Glb()
    g.put(joined([box(1.4)]), g.material(texture=g.texture(png(letter()))))
    return g


MODELS = [sampler_wrap, sampler_filter, texture_transform_slots, texture_coordinate_sets, mixed_coordinate_sets,
          image_kinds, linear_and_srgb, far_texture_coordinates, normal_maps, textured_box]
