"""Models of geometry, nodes, clips, skins and morph targets."""

import numpy as np

from glb import Glb
from shapes import box, grid, joined, letter, png, quad, sphere, tube, without

RED, GREEN, BLUE, GREY = (0.7, 0.08, 0.05, 1), (0.05, 0.5, 0.08, 1), (0.05, 0.1, 0.7, 1), (0.5, 0.5, 0.5, 1)


def turn(axis, degrees):
    half = np.radians(degrees) / 2
    return [float(c) for c in (*(np.array(axis) / np.linalg.norm(axis) * np.sin(half)), np.cos(half))]


def sides():
    """Quads seen from the front and the back: single-sided, double-sided, mirrored by scale −1 in x, and in all axes."""
    g = Glb()
    t = g.texture(png(letter()))
    one, both = g.material(texture=t), g.material(texture=t, doubleSided=True)
    nodes = [({}, one), ({"rotation": turn((0, 1, 0), 180)}, one), ({}, both), ({"rotation": turn((0, 1, 0), 180)}, both),
             ({"scale": [-1, 1, 1]}, one), ({"scale": [-1, -1, -1]}, one), ({"scale": [1, 1, -1]}, one),
             ({"scale": [-1, 1, 1]}, both), ({"matrix": np.diag([1, -1, 1, 1.0]).ravel().tolist()}, one)]
    for (node, material), at in zip(nodes, grid(9, 3)):
        holder = g.node(at)
        child = g.node(root=False, mesh=g.mesh(quad(), material), **node)
        g.document["nodes"][holder]["children"] = [child]
    return g


def mirrored_boxes():
    """Boxes and balls scaled by negative factors: mirrored outlines and shading."""
    g = Glb()
    t = g.texture(png(letter()))
    material = g.material(texture=t, rough=0.4)
    for scale, at in zip(([1, 1, 1], [-1, 1, 1], [-1, -1, 1], [-1, -1, -1]), grid(4, 2, 1.2)):
        parent = g.node(at, scale=scale)
        g.document["nodes"][parent]["children"] = [
            g.put(box(0.6), material, (0.1, 0, 0), root=False, rotation=turn((1, 1, 0), 30)),
            g.put(sphere(0.25), material, (0.3, 0.4, 0.1), root=False),
        ]
    return g


def skewed():
    """A rotated box below a stretched node, which shears the box and its normals. Beside it, the same box with a matrix."""
    g = Glb()
    material = g.material(GREY, rough=0.3)
    parent = g.node((-0.9, 0, 0), scale=[0.4, 1.6, 0.8])
    child = g.put(box(0.8), material, root=False, rotation=turn((0, 0, 1), 40))
    ball = g.put(sphere(0.4), material, (0.9, -0.4, 0.3), root=False, rotation=turn((1, 0, 0), 40), scale=[1, 0.5, 1])
    g.document["nodes"][parent]["children"] = [child, ball]
    turned = np.eye(4)
    turned[:3, :3] = np.array([[0.766, -0.643, 0], [0.643, 0.766, 0], [0, 0, 1]]) * [1.2, 0.5, 0.8]
    turned[:3, 3] = (0.9, 0, 0)
    g.put(box(0.8), material, at=None, matrix=turned.T.ravel().tolist())
    return g


def deep_nodes():
    """A spiral of 120 nodes, each a child of the previous node."""
    g = Glb()
    mesh = [g.mesh(box(0.3, 0.1, 0.1), g.material(c)) for c in (RED, GREEN, BLUE)]
    parent = None
    for i in range(120):
        node = g.node((0.25, 0.01, 0.02), root=parent is None, mesh=mesh[i % 3], rotation=turn((0.2, 1, 0.3), 9),
                      scale=[0.985] * 3)
        if parent is not None:
            g.document["nodes"][parent]["children"] = [node]
        parent = node
    return g


def second_scene():
    """Two scenes, of which the second is the default: shows a green ball and no red box."""
    g = Glb()
    g.put(box(), g.material(RED))
    ball = g.put(sphere(), g.material(GREEN), root=False)
    g.document["scenes"].append({"nodes": [ball]})
    g.document["scene"] = 1
    return g


def vertex_colours():
    """Columns: float RGB, byte RGBA, short RGBA, byte RGBA without material. Rows: OPAQUE, MASK, BLEND, unlit."""
    g = Glb()
    rgba = np.array([[1, 0, 0, 1], [0, 1, 0, 0.7], [0, 0, 1, 0.4], [1, 1, 1, 0.1]], np.float32)
    rows = [{}, {"alphaMode": "MASK"}, {"alphaMode": "BLEND"}, {"extensions": {"KHR_materials_unlit": {}}}]
    at = iter(grid(16, 4))
    for row in rows:
        material = g.material(doubleSided=True, **row)
        bytes_, shorts = (rgba * 255).round(), (rgba * 65535).round()
        for column in range(4):
            colors = (lambda: g.accessor(rgba[:, :3]), lambda: g.accessor(bytes_, "u1", True),
                      lambda: g.accessor(shorts, "u2", True), lambda: g.accessor(bytes_, "u1", True))[column]()
            g.put({**quad(), "COLOR_0": colors}, material if column < 3 else None, next(at))
    return g


def plain_meshes():
    """Meshes without material, normals or indices, and with 8- and 16-bit indices. Those without normals are flat-shaded."""
    g = Glb()
    ball = sphere(0.45, 12, 8)
    expanded = {name: ball[name][ball["indices"]] for name in ("POSITION", "NORMAL", "TEXCOORD_0")}
    shapes = [ball, without(ball, "NORMAL", "TEXCOORD_0"), expanded, without(expanded, "NORMAL"),
              {**ball, "indices": g.accessor(ball["indices"], "u2")},
              {**ball, "indices": g.accessor(ball["indices"], "u1")}]
    for shape, at in zip(shapes, grid(6, 3)):
        g.put(shape, None, at)
    return g


def strips_and_fans():
    """A triangle strip and a fan, with and without indices: two ribbons and two discs, all facing the front."""
    g = Glb()
    material = g.material(GREEN)
    a = np.linspace(0, 2 * np.pi, 13)
    disc = np.concatenate([[[0, 0, 0]], np.stack([np.cos(a), np.sin(a), 0 * a], 1) * 0.45])
    x = np.repeat(np.linspace(-0.45, 0.45, 7), 2)
    ribbon = np.stack([x, np.tile([0.2, -0.2], 7) + 0.1 * np.sin(x * 8), 0 * x], 1)
    for (points, mode), at in zip(((ribbon, 5), (ribbon, 5), (disc, 6), (disc, 6)), grid(4, 2)):
        shape = {"POSITION": points.astype(np.float32), "NORMAL": np.tile(np.float32([0, 0, 1]), (len(points), 1))}
        if at[0] > 0:
            shape["indices"] = np.arange(len(points), dtype=np.uint32)
        g.node(at, mesh=g.add("meshes", {"primitives": [g.primitive(shape, material, mode)]}))
    return g


def quantized():
    """KHR_mesh_quantization: short positions, byte normals, byte and unnormalised short texture coordinates."""
    g = Glb()
    t, side = g.texture(png(letter())), 4096
    g.uses("KHR_mesh_quantization")
    g.document["extensionsRequired"] = ["KHR_mesh_quantization"]
    shape = box(1)
    whole = g.accessor((shape["POSITION"] * 2 * 32767).round(), "i2")
    unit = g.accessor((shape["POSITION"] * 2 * 32767).round(), "i2", True)
    normal = g.accessor((shape["NORMAL"] * 127).round(), "i1", True)
    uv8 = g.accessor((shape["TEXCOORD_0"] * 255).round(), "u1", True)
    uv16 = g.accessor((shape["TEXCOORD_0"] * side).round(), "u2")
    scaled = {"index": t, "extensions": {"KHR_texture_transform": {"scale": [1 / side, 1 / side]}}}
    rows = [(unit, uv8, g.material(texture=t), [0.4] * 3), (whole, uv16, g.material(texture=scaled), [0.4 / 32767] * 3)]
    for (position, uv, material, scale), at in zip(rows, grid(2, 2)):
        attributes = {"POSITION": position, "NORMAL": normal, "TEXCOORD_0": uv, "indices": shape["indices"]}
        g.put(attributes, material, at, scale=scale)
    return g


def instances():
    """EXT_mesh_gpu_instancing with rotated, stretched and mirrored instances below a rotated node, which has a child."""
    g = Glb()
    g.uses("EXT_mesh_gpu_instancing")
    count = 12
    a = np.arange(count) / count * 2 * np.pi
    at = g.accessor(np.stack([np.cos(a), 0.2 * np.sin(3 * a), np.sin(a)], 1))
    rotation = g.accessor([turn((0, 1, 0), -np.degrees(x)) for x in a])
    scale = g.accessor([[1, 1 + 0.1 * i, 1 if i % 3 else -1] for i in range(count)])
    attributes = {"TRANSLATION": at, "ROTATION": rotation, "SCALE": scale}
    mesh = g.mesh(box(0.3), g.material(texture=g.texture(png(letter()))))
    node = g.node(mesh=mesh, rotation=turn((1, 0, 0), 20), extensions={"EXT_mesh_gpu_instancing": {"attributes": attributes}})
    g.document["nodes"][node]["children"] = [g.put(sphere(0.3), g.material(RED), root=False)]
    return g


def clips():
    """A row of boxes, each animated differently; the second clip starts late, the third has one key."""
    g = Glb()
    t = g.texture(png(letter()))
    material = g.material(texture=t)
    nodes = [g.put(box(0.6), material, at) for at in grid(8, 4)]
    c = lambda n, path, times, values, how="LINEAR", *kind: (nodes[n], path, times, np.array(values, np.float32), how, *kind)
    zero4, zero3 = [0, 0, 0, 0], [0, 0, 0]
    q = lambda d: turn((0, 0, 1), d)
    spline = [zero4, q(0), [0, 0, 1.2, 0], [0, 0, 1.2, 0], q(90), zero4, zero4, q(30), zero4]
    lift = [zero3, [-1.5, 0.5, 0], [0, 2, 0], [0, -2, 0], [-1.5, 1.1, 0], [0, 2, 0], zero3, [-1.5, 0.5, 0], zero3]
    long_way = [q(0), [-x for x in q(100)], q(200)]
    g.clip("all", c(0, "rotation", [0, 1, 2], spline, "CUBICSPLINE"), c(0, "translation", [0, 1, 2], lift, "CUBICSPLINE"),
           c(1, "scale", [0, 0.7, 1.3], [[1, 1, 1], [1.4, 0.4, 1], [0.3, 1.3, 1]], "STEP"),
           c(2, "rotation", [0, 1, 2], long_way), c(3, "rotation", [0, 2], [q(0), q(179)]),
           c(4, "rotation", [0, 1, 2], [q(0), q(120), q(240)], "STEP"),
           c(5, "rotation", [0, 1, 2], (np.array([q(0), q(60), q(120)]) * 32767).round(), "LINEAR", "i2"),
           c(6, "scale", [0, 2], [[1, 1, 1], [-1, 1, 1]]),
           c(7, "translation", [0.5, 1.5], [[1.5, -0.5, 0], [1.5, -0.5, 0.8]]))
    g.clip("late", c(1, "rotation", [1, 2], [q(45), q(90)]), c(2, "scale", [0, 0.5], [[0.5, 0.5, 0.5], [1, 1, 1]]))
    g.clip("one key", c(3, "translation", [0], [[0.5, 0.9, 0]]))
    return g


def morphs():
    """Default weights of the mesh and of the node, and clips of weights: linear, step, spline, of several targets."""
    g = Glb()
    ball = sphere(0.4)
    n = ball["NORMAL"]
    wide = {"POSITION": (n * [0.4, 0, 0]).astype(np.float32)}
    tall = {"POSITION": (n * [0, 0.4, 0]).astype(np.float32), "NORMAL": (n * [0, -0.5, 0]).astype(np.float32)}
    ends = {"POSITION": np.where(n[:, 1:2] > 0.7, np.float32([[0, 0.3, 0.2]]), 0).astype(np.float32)}
    material = g.material(GREY, rough=0.4)
    mesh = g.mesh(ball, material, weights=[0.5, 0, 0], targets=[wide, tall, ends])
    bare = g.mesh(without(ball, "NORMAL"), material, weights=[0, 1, 0], targets=[wide, {"POSITION": tall["POSITION"]}, ends])
    at = grid(6, 3, 1.3)
    nodes = [g.node(at[0], mesh=mesh), g.node(at[1], mesh=mesh, weights=[0, 1, 1]), g.node(at[2], mesh=bare),
             g.node(at[3], mesh=mesh), g.node(at[4], mesh=mesh), g.node(at[5], mesh=mesh)]
    keys = np.array([[0, 0, 0], [1, 0.5, 0], [0, 1, 1]], np.float32)
    spline = np.stack([keys * 0, keys, keys * 0 + 0.3], 1).reshape(-1)
    g.clip("weights", (nodes[3], "weights", [0, 1, 2], keys.ravel(), "LINEAR"),
           (nodes[4], "weights", [0, 1, 2], keys.ravel(), "STEP"), (nodes[5], "weights", [0, 1, 2], spline, "CUBICSPLINE"))
    return g


def skins():
    """Bent tubes: byte joints, two roots, a mesh below a moved node (which must have no effect), no inverse matrices."""
    g = Glb()
    shape = tube()
    y = shape["POSITION"][:, 1] / 2
    weights = np.stack([1 - y, y, 0 * y, 0 * y], 1)
    joints = np.tile(np.array([0, 1, 0, 0]), (len(y), 1))
    material = g.material(texture=g.texture(png(letter())), doubleSided=True)
    angles = []
    for column, at in enumerate(grid(4, 4)):
        apart = column == 1
        lower = g.node((at[0], -1, 0))
        upper = g.node((at[0], 0, 0) if apart else (0, 1, 0), root=apart, rotation=turn((0, 0, 1), 50))
        if not apart:
            g.document["nodes"][lower]["children"] = [upper]
        bind = np.tile(np.eye(4), (2, 1, 1))
        bind[1, 3, 1] = -1
        skin = {"joints": [lower, upper]}
        if column != 3:
            skin["inverseBindMatrices"] = g.accessor(bind.reshape(2, 16))
        kinds = {"JOINTS_0": g.accessor(joints, "u2" if column == 2 else "u1"),
                 "WEIGHTS_0": g.accessor(weights * 255 if column == 2 else weights, *(("u1", True) if column == 2 else ()))}
        mesh = g.mesh({**shape, **kinds}, material)
        node = g.node((3, 1, 1) if column == 2 else None, mesh=mesh, skin=g.add("skins", skin),
                      **({"rotation": turn((1, 0, 0), 60)} if column == 2 else {}))
        angles.append((upper, "rotation", [0, 1], np.array([turn((0, 0, 1), 50), turn((0, 1, 1), -60)], np.float32), "LINEAR"))
    g.clip("bend", *angles)
    return g


def skin_with_morphs():
    """A skinned tube with a morph target, both animated."""
    g = Glb()
    shape = tube(0.3)
    y = shape["POSITION"][:, 1] / 2
    swell = {"POSITION": (shape["NORMAL"] * np.exp(-((y[:, None] - 0.5) * 6) ** 2) * 0.4).astype(np.float32)}
    upper = g.node((0, 1, 0), root=False)
    lower = g.node((0, -1, 0), children=[upper])
    bind = np.tile(np.eye(4), (2, 1, 1))
    bind[1, 3, 1] = -1
    skin = g.add("skins", {"joints": [lower, upper], "inverseBindMatrices": g.accessor(bind.reshape(2, 16)), "skeleton": lower})
    attributes = {"JOINTS_0": g.accessor(np.tile([0, 1, 0, 0], (len(y), 1)), "u1"),
                  "WEIGHTS_0": g.accessor(np.stack([1 - y, y, 0 * y, 0 * y], 1))}
    mesh = g.mesh({**shape, **attributes}, g.material(RED, doubleSided=True), weights=[0.2], targets=[swell])
    node = g.node(mesh=mesh, skin=skin)
    g.clip("both", (upper, "rotation", [0, 1], np.array([turn((0, 0, 1), 0), turn((0, 0, 1), 90)], np.float32), "LINEAR"),
           (node, "weights", [0, 1], np.array([0, 1], np.float32), "LINEAR"))
    return g


def degenerate():
    """Triangles without area, a normal of length zero, repeated vertices, and a ball, which is the only visible object."""
    g = Glb()
    flat = quad()
    flat["POSITION"] = flat["POSITION"] * np.float32([1, 0, 1])
    broken = quad(0.5)
    broken["NORMAL"] = broken["NORMAL"] * 0
    material = g.material(GREY, doubleSided=True)
    g.put(joined([sphere(), flat]), material)
    g.put(broken, material, (0.8, 0, 0))
    return g


MODELS = [sides, mirrored_boxes, skewed, deep_nodes, second_scene, vertex_colours, plain_meshes, strips_and_fans, quantized,
          instances, clips, morphs, skins, skin_with_morphs, degenerate]
