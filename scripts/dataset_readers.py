"""Checks a dataset for readers that need a graphics card or must be compiled, and therefore cannot be run here: every field that the
source code of a reader reads, and anything that would mislead the reader. Each function names the source code that was read.
"""
import fnmatch
import numbers
import re
import shlex
from pathlib import PurePosixPath


def is_matrix(rows):
    return len(rows) == 4 and all(len(row) == 4 and all(isinstance(v, numbers.Real) for v in row) for row in rows)


def instant_ngp(s, t, names, check):
    """NVlabs/instant-ngp, src/nerf_loader.cu at 090aed6 and abe236e."""
    strangers = {"camera", "n_frames", "aabb", "up", "envmap", "is_fisheye", "ftheta_p0", "latlong", "equirectangular",
                 "orthographic", "rolling_shutter", "normal_mts_args", "from_mitsuba", "fix_premult", "white_transparent",
                 "black_transparent", "sharpen", "render_aabb", "x_fov", "y_fov", "k3", "k4"} & t.keys()
    check(not strangers, f"instant-ngp gives {sorted(strangers)} another meaning")
    check(all(isinstance(t[key], numbers.Real) and t[key] > 0 for key in ("fl_x", "fl_y", "cx", "cy", "w", "h")), "lens")
    check(not any(t[key] for key in ("k1", "k2", "p1", "p2")), "a coefficient that is not 0 turns distortion on")
    check(t["aabb_scale"] in (1, 2, 4, 8, 16, 32, 64, 128), "aabb_scale is not a power of two")
    check(len(t["offset"]) == 3 and t["scale"] > 0, "offset or scale")
    check(isinstance(t["enable_depth_loading"], bool) and t["integer_depth_scale"] == 0.001, "depth is read with another scale")
    paths = [frame["file_path"] for frame in t["frames"]]
    check(paths == sorted(paths), "frames are not sorted by path, so instant-ngp would renumber the views")
    for frame in t["frames"]:
        path = PurePosixPath(frame["file_path"])
        check(str(path) in names and path.suffix == ".png", f"{path} is missing")
        check(frame["depth_path"] in names, f"{frame['depth_path']} would be ignored silently")
        beside = (f"{path}.alpha.png", f"{path.parent}/dynamic_mask_{path.stem}.png", f"{path.parent}/rays_{path.stem}.dat")
        check(not names & set(beside), f"one of {beside} would change the image")
        check(is_matrix(frame["transform_matrix"]) and "sharpness" not in frame, "transform_matrix or sharpness")
    places = s.points(t["ply_file_path"])["xyz"] * t["scale"] + t["offset"]
    check(len(places) > 0 and places.min() >= 0 and places.max() <= 1, "the model leaves the unit cube")


def opensplat(s, t, names, check):
    """pierotofy/OpenSplat, nerfstudio.cpp, input_data.cpp and point_io.cpp at 011d8e7 and 15b7e80."""
    check("transforms.json" in names and isinstance(t["camera_model"], str), "camera_model is required")
    check(t["ply_file_path"] in names, "ply_file_path is required")
    check(all(isinstance(t[key], int) for key in ("w", "h")), "w and h must be integers")
    check("k3" not in t and not any(t[key] for key in ("k1", "k2", "p1", "p2")), "images would be undistorted")
    check(all(f["file_path"] in names and is_matrix(f["transform_matrix"]) for f in t["frames"]), "frames")
    lines = s.read(t["ply_file_path"]).split(b"end_header\n")[0].decode().splitlines()
    check(lines[:2] == ["ply", "format binary_little_endian 1.0"] and lines[2].startswith("element vertex "), "ply header")
    wanted = ["float x", "float y", "float z", "float nx", "float ny", "float nz", "uchar red", "uchar green", "uchar blue"]
    check([line.removeprefix("property ") for line in lines[3:]] == wanted, "ply properties have another order")


def nerfstudio(s, t, names, check):
    """nerfstudio-project/nerfstudio, models/splatfacto.py and models/instant_ngp.py at 50e0e3c: their background is random by default, so
    they would reproduce the white of images without an alpha channel as matter. bench/loaders.py runs the readers."""
    commands = [line for line in s.read("README.txt").decode().splitlines() if "ns-train " in line]
    trainers = [line for line in commands if "ns-train splatfacto" in line or "ns-train instant-ngp" in line]
    check(trainers and all("--pipeline.model.background-color white" in line for line in trainers), "the background is not white")


def brush(s, t, names, check):
    """ArthurBrussee/brush, crates/brush-dataset/src/formats at 327a759 and 8b7f5c6, after the command in README.txt has deleted files.
    Brush reads transforms.json only without sparse/."""
    command = re.search(r"^Brush +zip -d SET\.zip (.+), then brush SET\.zip$", s.read("README.txt").decode(), re.MULTILINE)
    check(command, "README.txt has no command that deletes what would mislead Brush")
    patterns = shlex.split(command[1])
    names = {name for name in names if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)}
    check(not [name for name in names if name.startswith(("sparse/", "transforms_"))], "sparse/ or split files would be read")
    check(t["camera_model"] in ("OPENCV", "PERSPECTIVE"), "camera_model is not known")
    check([name for name in names if name.endswith("transforms.json")] == ["transforms.json"], "more than one transforms.json")
    check([name for name in names if name.endswith(".ply")] == [t["ply_file_path"]], "Brush starts from the last .ply")
    for frame in t["frames"]:
        path = PurePosixPath(frame["file_path"])
        check(str(path) in names and is_matrix(frame["transform_matrix"]), "frames")
        stems = {path.name.lower(), path.stem.lower(), f"{path.stem}.mask".lower()}
        masks = [n for n in names if "masks" in PurePosixPath(n.lower()).parts and PurePosixPath(n.lower()).stem in stems]
        check(not masks, f"{masks} would make Brush ignore uncovered pixels")
        normals = [n for n in names if "normals" in PurePosixPath(n.lower()).parts and PurePosixPath(n.lower()).stem in stems]
        check(not normals, f"{normals} would be taken for normals in camera space")


def gaussian_splatting(s, t, names, check):
    """graphdeco-inria/gaussian-splatting, readColmapSceneInfo in scene/dataset_readers.py. check_colmap checks the layout of the files."""
    check({f"sparse/0/{name}.bin" for name in ("cameras", "images", "points3D")} <= names, "sparse/0")
    check("sparse/0/points3D.ply" not in names, "it would be read instead of the points")
    stems = [PurePosixPath(frame["file_path"]).name.split(".")[0] for frame in t["frames"]]
    check(stems == sorted(set(stems)), "images are distinguished and sorted by their name up to the first dot")


READERS = {"nerfstudio": nerfstudio, "instant-ngp": instant_ngp, "OpenSplat": opensplat, "Brush": brush,
           "3D Gaussian Splatting": gaussian_splatting}


def check_readers(s, t, check):
    names = set(s.names())
    for name, reader in READERS.items():
        reader(s, t, names, lambda truth, words, name=name: check(truth, f"{name}: {words}"))
    print(f"readers: {', '.join(READERS)} would find every field that they read")
