#!/usr/bin/env python3
"""Checks a dataset without code of Plinth: every file, every convention, and the geometry, with only numpy and Pillow.

    check_dataset.py SET                        files, formats, cameras, and that all layers and views agree
    check_dataset.py SET --shape sphere         ... and that depth and normals lie on an analytic surface (box, torus)
    check_dataset.py SET --views 100 --side 800 ... and that the set has this size

SET is a folder or a .zip. Prints one line of figures per check; exits with 1 at the first failure.
"""
import argparse
import hashlib
import io
import json
import struct
import sys
import zipfile
from pathlib import Path

try:
    import numpy as np
    from PIL import Image
except ImportError as error:
    sys.exit(f"check_dataset: {error.name} is missing; `scripts/find.sh python` finds a Python that has it")

from dataset_readers import check_readers

Image.MAX_IMAGE_PIXELS = None


class Set:
    """The files of a dataset, in a folder or in a ZIP."""

    def __init__(self, path):
        self.root = Path(path)
        self.zip = zipfile.ZipFile(path) if self.root.is_file() else None

    def names(self):
        if self.zip:
            return sorted(i.filename for i in self.zip.infolist() if not i.is_dir())
        return sorted(str(p.relative_to(self.root)) for p in self.root.rglob("*") if p.is_file())

    def read(self, name):
        return self.zip.read(name) if self.zip else (self.root / name).read_bytes()

    def json(self, name):
        return json.loads(self.read(name))

    def points(self, name):
        """Returns the rows of a binary PLY file."""
        row = np.dtype([("xyz", "<f4", 3), ("normal", "<f4", 3), ("rgb", "u1", 3)])
        return np.frombuffer(self.read(name).split(b"end_header\n", 1)[1], row)

    def picture(self, name):
        return Image.open(io.BytesIO(self.read(name)))

    def png(self, name):
        """Returns (width, height) and (bits, kind) from the header of a PNG. Versions of Pillow name 16-bit grey differently: I or I;16."""
        data = self.read(name)
        check(data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR", f"{name} is no PNG")
        width, height, bits, kind = struct.unpack(">IIBB", data[16:26])
        return (width, height), (bits, {0: "grey", 2: "RGB"}.get(kind, kind))


def check(truth, words):
    if not truth:
        sys.exit(f"check_dataset: {words}")


# Maximum distance between the point of a pixel and the surface: half a step of depth_metric (0.0005), and the distance between
# the flat triangles of the model and the curved shape.
TOLERANCE = 5.5e-4


# ---- surfaces -------------------------------------------------------------------------------------------------------
# Each function returns, for points in the dataset's world, the signed distance to the surface and the unit normal of the nearest
# point of the surface. The shapes are centred, and their largest side is 2.

def sphere(p):
    r = np.linalg.norm(p, axis=-1)
    return r - 1, p / r[..., None]


BOX = np.array([1.0, 0.5, 0.75])  # half of each side


def box(p):
    q = np.abs(p) - BOX
    outside = np.linalg.norm(np.maximum(q, 0), axis=-1)
    distance = outside + np.minimum(q.max(axis=-1), 0)
    side = q.argmax(axis=-1)
    normal = np.zeros_like(p)
    np.put_along_axis(normal, side[..., None], np.sign(np.take_along_axis(p, side[..., None], -1)), -1)
    return distance, normal


RING, TUBE = 0.7, 0.3  # radii; the axis is +Z


def torus(p):
    across = np.linalg.norm(p[..., :2], axis=-1)
    ring = np.concatenate([p[..., :2] / across[..., None] * RING, np.zeros(p.shape[:-1] + (1,))], -1)
    away = p - ring
    length = np.linalg.norm(away, axis=-1)
    return length - TUBE, away / length[..., None]


SHAPES = {"sphere": sphere, "box": box, "torus": torus}


# ---- checks ---------------------------------------------------------------------------------------------------------

LAYERS = {
    "images": ("{:04}.png", (8, "RGB")),
    "depth": ("{:04}.png", (8, "grey")),
    "depth_16bit": ("{:04}.png", (16, "grey")),
    "depth_metric": ("{:04}.png", (16, "grey")),
    "normals": ("{:04}.png", (8, "RGB")),
    "masks": ("mask_{:04}.png", (8, "grey")),
}


def check_files(s, views, side):
    names = s.names()
    cameras = s.json("transforms.json")
    count, w, h = len(cameras["frames"]), cameras["w"], cameras["h"]
    if views:
        check(count == views, f"{count} views, not {views}")
    if side:
        check((w, h) == (side, side), f"{w}x{h} pixels, not {side}x{side}")
    for folder, (pattern, wanted_format) in LAYERS.items():
        wanted = sorted(f"{folder}/{pattern.format(i)}" for i in range(count))
        check([n for n in names if n.startswith(folder + "/")] == wanted, f"{folder} does not hold {count} pictures")
        for i in {0, count // 2, count - 1}:
            size, found = s.png(f"{folder}/{pattern.format(i)}")
            check(size == (w, h) and found == wanted_format, f"{folder} {i}: {size} {found}, not {wanted_format}")
    manifest = s.json("manifest.json")
    check("frames" not in manifest, "instant-ngp would take manifest.json for cameras")
    check(manifest["views"] == count and manifest["version"] and manifest["adapter"], "manifest.json is not complete")
    listed = sorted(f["path"] for f in manifest["files"])
    check(listed == [n for n in names if n != "manifest.json"], "manifest.json does not list every file")
    total = 0
    for f in manifest["files"]:
        content = s.read(f["path"])
        total += len(content)
        check(hashlib.sha256(content).hexdigest() == f["sha256"] and len(content) == f["bytes"], f"{f['path']}: hash")
    check_overview(s, manifest["overview"], count)
    check(b"depth_near" in s.read("README.txt"), "README.txt does not explain depth")
    if s.zip:
        stored = [i for i in s.zip.infolist() if i.filename.endswith(".png")]
        check(all(i.compress_type == zipfile.ZIP_STORED for i in stored), "pictures are compressed twice")
        check(s.zip.testzip() is None, "a checksum of the ZIP is wrong")
    print(f"files: {len(names)}, {count} views of {w}x{h}, {total / 1e6:.1f} MB, hashes right")
    return cameras


def check_overview(s, layout, count):
    overview = s.picture("overview.webp").convert("RGB")
    check(min(overview.size) > 200 and np.asarray(overview).std() > 10, "overview.webp shows nothing")
    check(overview.size == (layout["width"], layout["height"]), f"overview.webp has {overview.size} pixels")
    side, columns = layout["tile"], layout["columns"]
    for folder, (x, y) in layout["panels"].items():
        for i in {0, count // 2, count - 1}:
            left, top = x + i % columns * layout["step"], y + i // columns * layout["step"]
            tile = overview.crop((left, top, left + side, top + side))
            picture = s.picture(f"{folder}/{LAYERS[folder][0].format(i)}").convert("RGB")
            error = np.abs(np.asarray(picture.resize((side, side), Image.Resampling.BOX), float) - np.asarray(tile)).mean()
            check(picture.width != picture.height or error < 8, f"overview.webp: {folder} {i} is off by {error:.1f} of 255")


def check_cameras(s, t, even):
    poses = np.array([f["transform_matrix"] for f in t["frames"]])
    turn, place = poses[:, :3, :3], poses[:, :3, 3]
    error = np.abs(turn @ turn.transpose(0, 2, 1) - np.eye(3)).max()
    check(error < 1e-6 and np.abs(np.linalg.det(turn) - 1).max() < 1e-6, f"rotations are off by {error}")
    check((poses[:, 3] == [0, 0, 0, 1]).all(), "the last row of a matrix is not 0 0 0 1")
    check(t["camera_model"] == "OPENCV" and t["k1"] == t["k2"] == t["p1"] == t["p2"] == 0, "camera_model or distortion")
    check(abs(t["camera_angle_x"] - 2 * np.arctan(t["w"] / 2 / t["fl_x"])) < 1e-9, "camera_angle_x is not fl_x")
    check(all("mask_path" not in f for f in t["frames"]), "mask_path would leave the background unsupervised")
    to, back = np.array(t["scene_normalization"]), np.array(t["model_from_scene"])
    check(np.abs(to @ back - np.eye(4)).max() < 1e-6, "scene_normalization and model_from_scene are no inverses")
    words = f"cameras: rotations within {error:.1e}"
    if even and len(poses) >= 24:
        toward = place / np.linalg.norm(place, axis=1)[:, None]
        cosines = toward @ toward.T - 2 * np.eye(len(poses))
        nearest = np.arccos(np.clip(cosines.max(axis=1), -1, 1))
        ratio = nearest.min() / nearest.mean()
        check(ratio > 0.8, f"the nearest view is at {ratio:.2f} of the mean angle")
        check(t["coverage"] != "hemisphere" or (place[:, 2] > 0).all(), "a view is below the horizon")
        check((turn[:, 2, 1] > 0).all(), "a view is upside down")
        check(np.abs(np.einsum("ni,ni->n", turn[:, :, 2], toward) - 1).max() < 1e-6, "a view does not face the middle")
        words += f", nearest neighbours at {ratio:.2f} of their mean or more"
    print(words)
    return poses


def colmap_text(s):
    lines = lambda name: [l for l in s.read(f"sparse/0/{name}").decode().splitlines() if not l.startswith("#")]
    camera = lines("cameras.txt")[0].split()
    images = [l.split() for l in lines("images.txt")[::2]]
    points = np.array([[float(v) for v in l.split()[1:7]] for l in lines("points3D.txt")])
    return (camera[1], [float(v) for v in camera[2:]]), [(i[9], np.array(i[1:8], float)) for i in images], points


def colmap_binary(s):
    data = s.read("sparse/0/cameras.bin")
    count, _, model, w, h = struct.unpack_from("<QIiQQ", data)
    check((count, model) == (1, 1), "cameras.bin is not one PINHOLE")
    camera = ("PINHOLE", [w, h, *struct.unpack_from("<4d", data, 32)])
    check(len(data) == 64, "cameras.bin has another length")
    data, images = s.read("sparse/0/images.bin"), []
    at = 8
    for _ in range(struct.unpack_from("<Q", data)[0]):
        pose = np.array(struct.unpack_from("<7d", data, at + 4))
        end = data.index(b"\0", at + 64)
        images.append((data[at + 64:end].decode(), pose))
        at = end + 9
    check(at == len(data), "images.bin has another length")
    data = s.read("sparse/0/points3D.bin")
    count = struct.unpack_from("<Q", data)[0]
    row = np.dtype([("id", "<u8"), ("xyz", "<f8", 3), ("rgb", "u1", 3), ("error", "<f8"), ("track", "<u8")])
    check(len(data) == 8 + count * row.itemsize, "points3D.bin has another length")
    rows = np.frombuffer(data, row, offset=8)
    return camera, images, np.concatenate([rows["xyz"], rows["rgb"]], 1)


def rotation(q):
    w, x, y, z = q
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def check_colmap(s, t, poses):
    (text, binary) = (colmap_text(s), colmap_binary(s))
    worst = 0
    for (model, lens), images, points in (text, binary):
        check(model == "PINHOLE", f"camera model {model}")
        wanted = [t["w"], t["h"], t["fl_x"], t["fl_y"], t["cx"], t["cy"]]
        check(np.abs(np.array(lens) - wanted).max() < 1e-6, "intrinsics differ from transforms.json")
        check(["images/" + n for n, _ in images] == [f["file_path"] for f in t["frames"]], "image names differ")
        for (_, pose), c2w in zip(images, poses):
            w2c = np.eye(4)
            w2c[:3, :3], w2c[:3, 3] = rotation(pose[:4]), pose[4:]
            worst = max(worst, np.abs(np.linalg.inv(w2c) @ np.diag([1, -1, -1, 1]) - c2w).max())
    check(worst < 1e-6, f"COLMAP's poses differ from transforms.json by {worst}")
    check(np.abs(text[2] - binary[2]).max() < 1e-5, "points of text and binary differ")
    ply = s.points("points3d.ply")
    check(len(ply) == len(binary[2]), "points3d.ply and points3D.bin differ in length")
    check(np.abs(np.linalg.norm(ply["normal"], axis=1) - 1).max() < 1e-3, "normals of points are no unit vectors")
    print(f"colmap: poses within {worst:.1e} of transforms.json; {len(ply)} points")
    return ply


def layers(s, t, i):
    read = lambda folder: np.asarray(s.picture(f"{folder}/{LAYERS[folder][0].format(i)}")).astype(float)
    return {folder: read(folder) for folder in LAYERS}


def back_project(t, pose, depth):
    """Returns the points in world space that pixels with a depth show, by the formula of README.txt, and the pixels."""
    v, u = np.nonzero(depth > 0)
    d = depth[v, u]
    p = np.stack([(u + 0.5 - t["cx"]) / t["fl_x"] * d, -(v + 0.5 - t["cy"]) / t["fl_y"] * d, -d], -1)
    return p @ pose[:3, :3].T + pose[:3, 3], (v, u)


def near_edge(inside):
    """Returns the pixels for which one of the eight neighbours has another value."""
    out = np.zeros_like(inside)
    padded = np.pad(inside, 1, mode="edge")
    h, w = inside.shape
    for dy in range(3):
        for dx in range(3):
            out |= padded[dy:dy + h, dx:dx + w] != inside
    return out


def check_layers(s, t, poses, shape):
    near, far = t["depth_near"], t["depth_far"]
    worst = dict(deep=0.0, shallow=0.0)
    distances = {"metric": [], "16 bits": []}
    angles, seen, facing, white = [], 0, 0, True
    for i, pose in enumerate(poses):
        l = layers(s, t, i)
        metric = l["depth_metric"] * 0.001
        inside = metric > 0
        seen += inside.sum()
        check(inside.any() or shape is None, f"view {i} shows nothing")
        solid = l["masks"] >= 128
        # If the model may have blended parts, only pixels with full or no coverage are compared.
        told = ~near_edge(inside) if shape else ~near_edge(inside) & ((l["masks"] == 0) | (l["masks"] == 255))
        check((solid == inside)[told].all(), f"view {i}: mask and depth disagree away from edges")
        deep = l["depth_16bit"] / 65535 * (far - near) + near
        shallow = l["depth"] / 255 * (far - near) + near
        check((l["depth_16bit"][~inside] == 65535).all() and (l["depth"][~inside] == 255).all(), f"view {i}: no surface")
        check((l["normals"][~inside] == 128).all(), f"view {i}: normals without a surface")
        nothing = (l["masks"] == 0)
        white &= (l["images"][nothing] == 255).all()
        if not inside.any():
            continue
        # The three depths encode the same distance, so two of them differ by at most half a step of each.
        steps = (0.0005, (far - near) / 65535 / 2, (far - near) / 255 / 2)
        worst["deep"] = max(worst["deep"], (np.abs(deep - metric)[inside] / (steps[0] + steps[1])).max())
        worst["shallow"] = max(worst["shallow"], (np.abs(shallow - deep)[inside] / (steps[1] + steps[2])).max())
        normal = l["normals"][inside] / 255 * 2 - 1
        length = np.linalg.norm(normal, axis=1)
        check((np.abs(length - 1) < 0.02).all(), f"view {i}: normals are no unit vectors")
        points, _ = back_project(t, pose, metric)
        view = points - pose[:3, 3]
        facing += ((view * normal).sum(axis=1) < 0.01 * np.linalg.norm(view, axis=1)).sum()
        if shape:
            distances["metric"].append(np.abs(shape(points)[0]))
            fine, _ = back_project(t, pose, np.where(inside, deep, 0))
            distance, truth = shape(fine)
            distances["16 bits"].append(np.abs(distance))
            cosine = (truth * normal / length[:, None]).sum(axis=1)
            angles.append(np.degrees(np.arccos(np.clip(cosine, -1, 1))))
    check(white, "what is not covered is not white")
    check(worst["deep"] < 1.01 and worst["shallow"] < 1.01, f"depths do not decode to each other: {worst}")
    # Interpolated normals of a coarse mesh may face away from the camera at its outline.
    check(facing >= (0.999 if shape else 0.98) * seen, f"only {facing} of {seen} normals face the camera")
    words = f"layers: {seen} pixels; depths agree within {max(worst['deep'], worst['shallow']):.3f} of their half steps"
    if shape:
        angles = np.concatenate(angles)
        # At an edge of the box, a pixel may show the normal of either side.
        wrong = (angles > 0.5 + 0.39).mean()
        metric, deep = (np.concatenate(distances[name]) for name in ("metric", "16 bits"))
        check(metric.max() < TOLERANCE, f"a pixel of depth_metric is off by {metric.max():.2e}")
        check(deep.max() < 5e-5 + (far - near) / 65535, f"depth_16bit is off by {deep.max():.1e}")
        check(wrong < 1e-3, f"{wrong:.2%} of normals are off; the worst by {angles.max():.2f} degrees")
        words += (f"; on the surface within {metric.max():.2e} (metric) and {deep.max():.1e} (16 bits); normals within "
                  f"{np.percentile(angles, 99.9):.2f} degrees")
    print(words)


def check_reprojection(s, t, poses):
    """Checks that two views show a point at the same position: compares both positions in pixels of the first view."""
    errors = []
    n = len(poses)
    decode = lambda i: layers(s, t, i)["depth_16bit"]
    near, far = t["depth_near"], t["depth_far"]
    for i in range(0, n, max(1, n // 8)):
        k = min((k for k in range(n) if k != i), key=lambda k: np.linalg.norm(poses[k][:3, 3] - poses[i][:3, 3]))
        a, b = decode(i), decode(k)
        depth = lambda x: np.where(x < 65535, x / 65535 * (far - near) + near, 0)
        points, _ = back_project(t, poses[i], depth(a))
        local = (points - poses[k][:3, 3]) @ poses[k][:3, :3]
        z = -local[:, 2]
        x = local[:, 0] / z * t["fl_x"] + t["cx"]
        y = -local[:, 1] / z * t["fl_y"] + t["cy"]
        # The second view's depth, interpolated between pixel centres where all four have a surface.
        u, v = np.floor(x - 0.5).astype(int), np.floor(y - 0.5).astype(int)
        ok = (z > 0) & (u >= 0) & (u + 1 < t["w"]) & (v >= 0) & (v + 1 < t["h"])
        u, v, x, y, z, points = u[ok], v[ok], x[ok], y[ok], z[ok], points[ok]
        other = depth(b)
        corners = np.stack([other[v, u], other[v, u + 1], other[v + 1, u], other[v + 1, u + 1]], -1)
        fx, fy = x - 0.5 - u, y - 0.5 - v
        weights = np.stack([(1 - fx) * (1 - fy), fx * (1 - fy), (1 - fx) * fy, fx * fy], -1)
        seen = (corners * weights).sum(axis=1)
        visible = (corners > 0).all(axis=1) & (np.abs(seen - z) < 0.05)
        # The point that the second view shows at this pixel, projected back to the first view.
        back = np.stack([(x - t["cx"]) / t["fl_x"] * seen, -(y - t["cy"]) / t["fl_y"] * seen, -seen], -1)
        world = back @ poses[k][:3, :3].T + poses[k][:3, 3]
        first = (world - poses[i][:3, 3]) @ poses[i][:3, :3]
        origin = (points - poses[i][:3, 3]) @ poses[i][:3, :3]
        pixel = lambda p: np.stack([p[:, 0] / -p[:, 2] * t["fl_x"], p[:, 1] / -p[:, 2] * t["fl_y"]], -1)
        if visible.any():
            errors.append(np.linalg.norm(pixel(first) - pixel(origin), axis=1)[visible])
    if not errors:
        print("reprojection: no two views share a surface")
        return
    median = np.median(np.concatenate(errors))
    check(median <= 0.5, f"a point is {median:.2f} pixels off in another view")
    print(f"reprojection: median {median:.3f} pixels")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set")
    parser.add_argument("--shape", choices=SHAPES)
    parser.add_argument("--views", type=int)
    parser.add_argument("--side", type=int)
    parser.add_argument("--points", type=int, default=0, help="least number of points")
    parser.add_argument("--cameras", help="the transforms.json that was given with --cameras")
    args = parser.parse_args()
    s = Set(args.set)
    t = check_files(s, args.views, args.side)
    poses = check_cameras(s, t, even=not args.cameras)
    ply = check_colmap(s, t, poses)
    check_readers(s, t, check)
    check(len(ply) >= args.points, f"{len(ply)} points, fewer than {args.points}")
    shape = SHAPES.get(args.shape)
    if shape:
        off = np.abs(shape(ply["xyz"].astype(float))[0]).max()
        check(off < 5e-5, f"points are {off:.1e} off the surface")
    if args.cameras:
        asked = json.loads(Path(args.cameras).read_text())
        off = np.abs(np.array([f["transform_matrix"] for f in asked["frames"]]) - poses).max()
        check(off < 1e-14 * max(1, np.abs(poses).max()), f"poses differ by {off:.1e} from the requested ones")
    check_layers(s, t, poses, shape)
    check_reprojection(s, t, poses)


if __name__ == "__main__":
    main()
