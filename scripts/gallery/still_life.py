"""Generates a model on which every setting has an effect, and the images that settings name."""

import json
import math
import struct

import numpy as np
from PIL import Image, ImageDraw

FLOAT, UNSIGNED = 5126, 5125
ARRAYS, INDICES = 34962, 34963


def grid(rows, columns, at):
    """Returns a surface over a grid. `at` returns position and normal for the fractions of rows and columns."""
    v, u = np.meshgrid(np.linspace(0, 1, rows + 1), np.linspace(0, 1, columns + 1), indexing="ij")
    place, normal = at(v, u)
    corner = np.arange((rows + 1) * (columns + 1)).reshape(rows + 1, columns + 1)
    a, b, c, d = corner[:-1, :-1], corner[:-1, 1:], corner[1:, :-1], corner[1:, 1:]
    triangles = np.stack([a, b, c, b, d, c], -1).reshape(-1)
    flat = lambda values: np.stack(values, -1).reshape(-1, len(values))
    return flat(place), flat(normal), flat((u, v)), triangles


def ball(rows=24, columns=48):
    def at(v, u):
        polar, azimuth = np.pi * v, 2 * np.pi * u
        p = (np.sin(polar) * np.cos(azimuth), np.cos(polar), np.sin(polar) * np.sin(azimuth))
        return p, p

    return grid(rows, columns, at)


def ring(thick=0.3):
    def at(v, u):
        around, azimuth = -2 * np.pi * v, 2 * np.pi * u
        across = 0.7 + thick * np.cos(around)
        place = (across * np.cos(azimuth), thick * np.sin(around), across * np.sin(azimuth))
        return place, (np.cos(around) * np.cos(azimuth), np.sin(around), np.cos(around) * np.sin(azimuth))

    return grid(16, 64, at)


def box():
    places, normals, uvs, triangles = [], [], [], []
    for axis in range(3):
        for sign in (-1, 1):
            second, third = ((axis + 1) % 3, (axis + 2) % 3)[::sign]
            first = len(places)
            for s, t in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                place, normal = [0.0] * 3, [0.0] * 3
                place[axis], place[second], place[third], normal[axis] = sign, s, t, sign
                places.append(place)
                normals.append(normal)
                uvs.append(((s + 1) / 2, (1 - t) / 2))
            triangles += [first + i for i in (0, 1, 2, 0, 2, 3)]
    return np.array(places), np.array(normals), np.array(uvs), np.array(triangles)


def paint(color, metallic=0.0, roughness=0.5, **more):
    return {"pbrMetallicRoughness": {"baseColorFactor": [*color, 1], "metallicFactor": metallic, "roughnessFactor": roughness}, **more}


MATERIALS = {
    "Paint": paint([0.55, 0.06, 0.04], roughness=0.35),
    "Steel": paint([0.9, 0.88, 0.84], metallic=1.0, roughness=0.22),
    "Clay": paint([0.62, 0.6, 0.56], roughness=0.9),
    "Wood": paint([0.35, 0.2, 0.1], roughness=0.6),
    "Lamp": paint(
        [0, 0, 0],
        emissiveFactor=[1, 0.75, 0.35],
        extensions={"KHR_materials_emissive_strength": {"emissiveStrength": 8}},
    ),
    "Leaf": paint([0.1, 0.35, 0.12], roughness=0.5),
}

# Each part: name, shape, material, position, size.
PARTS = [
    ("Ball", ball(), "Paint", (-0.55, 0.42, 0.45), (0.42, 0.42, 0.42)),
    ("Steel ball", ball(), "Steel", (0.42, 0.3, 0.62), (0.3, 0.3, 0.3)),
    ("Block", box(), "Clay", (0.35, 0.45, -0.35), (0.4, 0.45, 0.35)),
    ("Ring", ring(), "Wood", (0.35, 1.15, -0.35), (0.36, 0.36, 0.36)),
    ("Lamp", ball(12, 24), "Lamp", (-0.1, 0.1, 0.85), (0.1, 0.1, 0.1)),
    ("Column", box(), "Leaf", (-0.6, 0.75, -0.75), (0.16, 0.75, 0.16)),
]

# The ring turns once about a tilted axis.
CLIP_SECONDS = 0.2


def still_life():
    """Returns the model as a GLB."""
    buffer, views, accessors = bytearray(), [], []

    def add(values, kind, target=None):
        values = np.ascontiguousarray(values, "<u4" if kind == "INDEX" else "<f4")
        views.append({"buffer": 0, "byteOffset": len(buffer), "byteLength": values.nbytes})
        if target:
            views[-1]["target"] = target
        buffer.extend(values.tobytes())
        count = values.size if kind in ("INDEX", "SCALAR") else len(values)
        accessor = {"bufferView": len(views) - 1, "componentType": UNSIGNED if kind == "INDEX" else FLOAT}
        accessor |= {"count": count, "type": "SCALAR" if kind == "INDEX" else kind}
        if kind in ("VEC3", "SCALAR"):
            table = values.reshape(count, -1)
            accessor |= {"min": table.min(0).tolist(), "max": table.max(0).tolist()}
        accessors.append(accessor)
        return len(accessors) - 1

    names = list(MATERIALS)
    nodes, meshes = [], []
    for name, (places, normals, uvs, triangles), material, place, size in PARTS:
        attributes = {
            "POSITION": add(places, "VEC3", ARRAYS),
            "NORMAL": add(normals, "VEC3", ARRAYS),
            "TEXCOORD_0": add(uvs, "VEC2", ARRAYS),
        }
        indices = add(triangles, "INDEX", INDICES)
        primitive = {"attributes": attributes, "indices": indices, "material": names.index(material)}
        meshes.append({"name": name, "primitives": [primitive]})
        nodes.append({"name": name, "mesh": len(meshes) - 1, "translation": place, "scale": size})
    turns = np.linspace(0, 2 * math.pi, 9)
    axis = np.array([0.6, 0.0, 0.8])
    quaternions = np.stack([np.append(axis * math.sin(t / 2), math.cos(t / 2)) for t in turns])
    sampler = {
        "input": add(turns / turns[-1] * CLIP_SECONDS, "SCALAR"),
        "output": add(quaternions, "VEC4"),
        "interpolation": "LINEAR",
    }
    ring_node = next(i for i, part in enumerate(PARTS) if part[0] == "Ring")
    channel = {"sampler": 0, "target": {"node": ring_node, "path": "rotation"}}
    document = {
        "asset": {"version": "2.0", "generator": "plinth gallery"},
        "extensionsUsed": ["KHR_materials_emissive_strength"],
        "scene": 0,
        "scenes": [{"nodes": list(range(len(nodes)))}],
        "nodes": nodes,
        "meshes": meshes,
        "materials": [{"name": name, **material} for name, material in MATERIALS.items()],
        "animations": [{"name": "turn", "samplers": [sampler], "channels": [channel]}],
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{"byteLength": len(buffer)}],
    }
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    chunks = b"".join(struct.pack("<I4s", len(data), kind) + data for kind, data in ((b"JSON", text), (b"BIN\0", bytes(buffer))))
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def logo():
    """A decal image with a transparent border that shows its orientation."""
    image = Image.new("RGBA", (256, 256))
    draw = ImageDraw.Draw(image)
    draw.ellipse((8, 8, 248, 248), fill=(250, 245, 230, 255))
    draw.polygon([(128, 30), (215, 190), (41, 190)], fill=(20, 60, 150, 255))
    draw.rectangle((150, 196, 200, 222), fill=(220, 120, 20, 255))
    return image


def stripes():
    """A wide image with three different thirds."""
    image = Image.new("RGB", (960, 540))
    draw = ImageDraw.Draw(image)
    for i, color in enumerate([(196, 92, 70), (225, 200, 150), (70, 110, 140)]):
        draw.rectangle((i * 320, 0, i * 320 + 319, 539), fill=color)
        draw.text((i * 320 + 110, 20), ["left", "center", "right"][i], fill=(20, 20, 20), font_size=48)
    for y in (90, 270, 450):
        draw.line((0, y, 959, y), fill=(255, 255, 255), width=3)
    return image


def checks():
    """A checkerboard texture."""
    y, x = np.mgrid[0:128, 0:128] // 16
    light = ((x + y) % 2)[..., None] == 0
    return Image.fromarray(np.where(light, [240, 230, 205], [30, 110, 120]).astype(np.uint8))


def sky():
    """Returns a panorama as a Radiance file: blue above, sand below, a low sun, and a red and a green wall."""
    height, width = 256, 512
    v = (np.arange(height) + 0.5)[:, None] / height * math.pi
    u = ((np.arange(width) + 0.5)[None, :] / width - 0.5) * 2 * math.pi
    x, y, z = np.sin(v) * np.cos(u), np.cos(v) + 0 * u, np.sin(v) * np.sin(u)
    color = np.where(y[..., None] > 0, [0.35, 0.55, 0.95] + y[..., None] * [-0.2, -0.2, 0.0], [0.42, 0.34, 0.24])
    squares = (np.floor(x / np.maximum(-y, 0.05)) + np.floor(z / np.maximum(-y, 0.05))) % 2
    color = color * np.where((y < -0.08) & (squares == 1), 0.55, 1.0)[..., None]
    low = np.abs(y) < 0.3
    color = np.where((low & (x > 0.75))[..., None], [0.8, 0.12, 0.08], color)
    color = np.where((low & (x < -0.75))[..., None], [0.1, 0.55, 0.15], color)
    sun = np.array([-0.45, 0.55, 0.7]) / np.linalg.norm([-0.45, 0.55, 0.7])
    cosine = x * sun[0] + y * sun[1] + z * sun[2]
    color = color + np.clip((cosine - 0.985) / 0.01, 0, 1)[..., None] * [60.0, 52.0, 40.0]
    peak = np.maximum(color.max(-1), 1e-9)
    exponent = np.ceil(np.log2(peak))
    mantissa = np.clip(color * (256 / 2.0**exponent)[..., None], 0, 255)
    pixels = np.concatenate([mantissa, (exponent + 128)[..., None]], -1).astype(np.uint8)
    return b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y %d +X %d\n" % (height, width) + pixels.tobytes()


def write_all(folder):
    """Writes model, images and panorama; returns their paths by name."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / file for name, file in FILES.items()}
    paths["still_life"].write_bytes(still_life())
    paths["sky"].write_bytes(sky())
    for name, image in (("logo", logo()), ("stripes", stripes()), ("checks", checks())):
        image.save(paths[name])
    return paths


FILES = {
    "still_life": "still_life.glb",
    "sky": "sky.hdr",
    "logo": "logo.png",
    "stripes": "stripes.png",
    "checks": "checks.png",
}
