#!/usr/bin/env python3
"""Fuses the depth images of datasets to surfaces and measures their distance from the models.

    bench/fuse.py MODEL.glb ...

Renders a dataset of each model (--coverage sphere), fuses its depth images, and compares the surface with the model.

The depth of all views is integrated into a truncated signed distance field (Curless and Levoy 1996) with Open3D, using only
transforms.json and depth_metric/. Prints mean distances in percent of the model's largest side:
  accuracy      from the fused surface to the model
  completeness  from the points of the model that a view shows to the fused surface
  chamfer       the mean of accuracy and completeness
Fails if chamfer is above LIMIT percent. Needs: pip install open3d trimesh numpy pillow.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import open3d as o3d
    import trimesh
    from PIL import Image
except ImportError as error:
    sys.exit(f"fuse: {error.name} is missing; pip install open3d trimesh numpy pillow")

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILT = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "plinth"
SIZE = 2.0
SAMPLES = 200_000
# Maximum number of voxel blocks, truncation distance in voxels, and largest depth in units.
BLOCKS, TRUNCATION, FARTHEST = 100_000, 4.0, 100.0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path, metavar="MODEL")
    parser.add_argument("--limit", type=float, default=0.2, metavar="PERCENT", help="default: 0.2")
    parser.add_argument("--quality", default="100x800", help="datasetQuality (default: 100x800)")
    parser.add_argument("--voxel", type=float, default=0.004, help="side of a voxel in units (default: 0.004)")
    parser.add_argument("--plinth", default=os.environ.get("PLINTH", BUILT))
    return parser.parse_args()


def views(folder, cameras):
    """Yields the depth in units and the camera-to-world matrix, with OpenCV's axes, of each view."""
    for frame in cameras["frames"]:
        depth = np.asarray(Image.open(folder / frame["depth_file_path"])).astype(np.float32) * 0.001
        yield depth, np.array(frame["transform_matrix"]) @ np.diag([1, -1, -1, 1])


def fused(folder, cameras, voxel):
    # Pixel centres have the coordinates 0, 1, … in Open3D, and 0.5, 1.5, … in transforms.json.
    lens = o3d.core.Tensor([[cameras["fl_x"], 0, cameras["cx"] - 0.5],
                            [0, cameras["fl_y"], cameras["cy"] - 0.5], [0, 0, 1]], o3d.core.float64)
    volume = o3d.t.geometry.VoxelBlockGrid(
        ("tsdf", "weight"), (o3d.core.float32, o3d.core.float32), ((1,), (1,)), voxel, 16, BLOCKS)
    for depth, pose in views(folder, cameras):
        picture = o3d.t.geometry.Image(o3d.core.Tensor(np.ascontiguousarray(depth[..., None])))
        camera_from_world = o3d.core.Tensor(np.linalg.inv(pose), o3d.core.float64)
        near = volume.compute_unique_block_coordinates(picture, lens, camera_from_world, 1.0, FARTHEST, TRUNCATION)
        volume.integrate(near, picture, lens, camera_from_world, 1.0, FARTHEST, TRUNCATION)
    mesh = volume.extract_triangle_mesh(1.0)
    return mesh.vertex.positions.numpy().astype(float), mesh.triangle.indices.numpy()


def is_seen(points, folder, cameras, slack):
    seen = np.zeros(len(points), bool)
    for depth, pose in views(folder, cameras):
        local = (points - pose[:3, 3]) @ pose[:3, :3]
        z = local[:, 2]
        x = np.floor(local[:, 0] / z * cameras["fl_x"] + cameras["cx"]).astype(int)
        y = np.floor(local[:, 1] / z * cameras["fl_y"] + cameras["cy"]).astype(int)
        inside = (z > 0) & (x >= 0) & (x < cameras["w"]) & (y >= 0) & (y < cameras["h"])
        seen[inside] |= np.abs(depth[y[inside], x[inside]] - z[inside]) < slack
    return seen


def mean_distance(points, mesh):
    scene = o3d.t.geometry.RaycastingScene()
    vertices, triangles = mesh
    scene.add_triangles(o3d.core.Tensor(vertices.astype(np.float32)), o3d.core.Tensor(triangles.astype(np.uint32)))
    return float(scene.compute_distance(o3d.core.Tensor(points.astype(np.float32))).numpy().mean())


def main():
    args = arguments()
    failed = False
    print(f"{'model':24} {'views':>5} {'accuracy %':>11} {'completeness %':>15} {'chamfer %':>10}")
    for path in args.models:
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch) / "set"
            subprocess.run([args.plinth, "render", path, "-o", folder, "--output", "dataset", "--quiet",
                            "--dataset-quality", args.quality, "--coverage", "sphere"], check=True, stdout=subprocess.DEVNULL)
            cameras = json.loads((folder / "transforms.json").read_text())
            surface = fused(folder, cameras, args.voxel)
            model = trimesh.load(path, force="mesh", process=False)
            model.apply_transform(np.array(cameras["scene_normalization"]))
            truth = (np.asarray(model.vertices), np.asarray(model.faces))
            sample = lambda mesh: trimesh.sample.sample_surface(
                trimesh.Trimesh(*mesh, process=False), SAMPLES, seed=1)[0]
            accuracy = mean_distance(sample(surface), truth) / SIZE * 100
            points = sample(truth)
            points = points[is_seen(points, folder, cameras, 2 * args.voxel)]
            completeness = mean_distance(points, surface) / SIZE * 100
        chamfer = (accuracy + completeness) / 2
        failed |= chamfer > args.limit
        print(f"{path.stem:24} {len(cameras['frames']):5} {accuracy:11.3f} {completeness:15.3f} {chamfer:10.3f}", flush=True)
    sys.exit(f"fuse: chamfer above {args.limit} %" if failed else 0)


if __name__ == "__main__":
    main()
