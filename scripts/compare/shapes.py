"""Shapes and images for the test models."""

import io

import numpy as np
from PIL import Image, ImageDraw


def quad(width=0.9, height=None, uv=((0, 0), (1, 1))):
    """A quad that faces +Z. `uv` are the coordinates of its upper left and lower right corners."""
    w, h = width / 2, (height or width) / 2
    (u0, v0), (u1, v1) = uv
    return {
        "POSITION": np.array([[-w, h, 0], [w, h, 0], [-w, -h, 0], [w, -h, 0]], np.float32),
        "NORMAL": np.tile(np.array([0, 0, 1], np.float32), (4, 1)),
        "TEXCOORD_0": np.array([[u0, v0], [u1, v0], [u0, v1], [u1, v1]], np.float32),
        "indices": np.array([0, 2, 1, 1, 2, 3], np.uint32),
    }


def box(x=0.8, y=None, z=None):
    """A box; each of its six faces shows the whole texture."""
    half = np.array([x, y or x, z or x], np.float32) / 2
    parts = []
    for axis in range(3):
        for sign in (1, -1):
            normal = np.zeros(3)
            normal[axis] = sign
            right = np.roll(normal, 1) if axis != 1 else np.array([1.0, 0, 0]) * sign
            up = np.cross(normal, right)
            corners = [normal + s * right + t * up for t in (1, -1) for s in (-1, 1)]
            face = quad()
            face["POSITION"] = np.array(corners, np.float32) * half
            face["NORMAL"] = np.tile(normal.astype(np.float32), (4, 1))
            parts.append(face)
    return joined(parts)


def sphere(radius=0.45, columns=32, rows=16):
    u, v = np.meshgrid(np.linspace(0, 1, columns + 1), np.linspace(0, 1, rows + 1))
    u, v = u.ravel(), v.ravel()
    normal = np.stack([np.sin(v * np.pi) * np.sin(u * 2 * np.pi), np.cos(v * np.pi),
                       np.sin(v * np.pi) * np.cos(u * 2 * np.pi)], 1)
    corner = lambda x, y: y * (columns + 1) + x
    triangles = [
        t
        for y in range(rows)
        for x in range(columns)
        for t in ([corner(x, y), corner(x, y + 1), corner(x + 1, y)],
                  [corner(x + 1, y), corner(x, y + 1), corner(x + 1, y + 1)])
    ]
    return {"POSITION": (normal * radius).astype(np.float32), "NORMAL": normal.astype(np.float32),
            "TEXCOORD_0": np.stack([u, v], 1).astype(np.float32), "indices": np.array(triangles, np.uint32).ravel()}


def tube(radius=0.15, height=2.0, columns=16, rows=24):
    """An open, upright tube that starts at y = 0."""
    out = sphere(1, columns, rows)
    u, v = out["TEXCOORD_0"].T
    ring = np.stack([np.sin(u * 2 * np.pi), np.zeros_like(u), np.cos(u * 2 * np.pi)], 1)
    out["NORMAL"] = ring.astype(np.float32)
    out["POSITION"] = (ring * radius + np.stack([0 * u, (1 - v) * height, 0 * u], 1)).astype(np.float32)
    return out


def joined(parts):
    out = {name: np.concatenate([p[name] for p in parts]) for name in parts[0] if name != "indices"}
    starts = np.cumsum([0] + [len(p["POSITION"]) for p in parts[:-1]])
    out["indices"] = np.concatenate([p["indices"] + start for p, start in zip(parts, starts)])
    return out


def without(shape, *names):
    return {name: values for name, values in shape.items() if name not in names}


def grid(count, columns, step=1.0):
    """Centres of grid cells in reading order."""
    rows = -(-count // columns)
    return [((i % columns - (columns - 1) / 2) * step, ((rows - 1) / 2 - i // columns) * step, 0) for i in range(count)]


def letter(side=64, mode="RGB", colors=((220, 60, 40), (40, 160, 60), (40, 80, 200), (230, 190, 30))):
    """An image of the letter F with four coloured corners, which shows mirroring and rotation."""
    image = Image.new("RGB", (side, side))
    draw = ImageDraw.Draw(image)
    half = side // 2
    for i, color in enumerate(colors):
        x, y = i % 2 * half, i // 2 * half
        draw.rectangle([x, y, x + half, y + half], fill=color)
    for box_ in ([0.3, 0.2, 0.42, 0.85], [0.3, 0.2, 0.75, 0.32], [0.3, 0.45, 0.65, 0.57]):
        draw.rectangle([c * side for c in box_], fill=(250, 250, 250))
    return image.convert(mode)


def png(image, **options):
    out = io.BytesIO()
    image.save(out, "PNG", **options)
    return out.getvalue()


def encoded(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def ramp(side=64, low=0, high=255, mode="RGB", across=True):
    """An image of a grey ramp from left to right, or from top to bottom."""
    line = np.linspace(low, high, side)
    values = np.tile(line, (side, 1)) if across else np.tile(line[:, None], (1, side))
    return Image.fromarray(values.round().astype(np.uint8)).convert(mode)


def bumps(side=128):
    """A tangent-space normal map of domes; v points down."""
    y, x = (np.mgrid[0:side, 0:side] / side * 4) % 1 * 2 - 1
    inside = x * x + y * y < 0.8
    slope = np.where(inside, 0.9, 0)
    normal = np.stack([x * slope, -y * slope, np.ones_like(x)], -1)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    return Image.fromarray(((normal * 0.5 + 0.5) * 255).round().astype(np.uint8))
