"""Starts the program, and tells it of the bundled ffmpeg and Vulkan driver where the machine has none."""

import os
import shutil
import sys
from pathlib import Path

PROGRAM = Path(__file__).parent / "bin" / "plinth"

# Where the Vulkan loader looks for drivers.
DRIVER_FOLDERS = ("/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/usr/share/vulkan/icd.d")
DRIVER_VARIABLES = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES")


def has_driver(environment):
    """Whether the machine has a Vulkan driver, or a variable names one."""
    if any(environment.get(name) for name in DRIVER_VARIABLES):
        return True
    own = Path(environment.get("XDG_DATA_HOME") or Path(environment.get("HOME", "/"), ".local/share"), "vulkan/icd.d")
    return any(path.suffix == ".json" for folder in (*DRIVER_FOLDERS, own) if Path(folder).is_dir() for path in Path(folder).iterdir())


def add_driver(environment):
    """Names the driver of the wheel `plinth-lavapipe` and the Vulkan loader beside it."""
    try:
        import plinth_lavapipe
    except ImportError:
        return
    folder = Path(plinth_lavapipe.__file__).parent / "lib"
    environment["VK_DRIVER_FILES"] = str(folder / "lvp_icd.json")
    libraries = environment.get("LD_LIBRARY_PATH")
    loader = str(folder / "loader")
    environment["LD_LIBRARY_PATH"] = f"{loader}:{libraries}" if libraries else loader
    add_readable(environment, folder)


def add_ffmpeg(environment):
    """Names the ffmpeg of the wheel `imageio-ffmpeg`."""
    try:
        import imageio_ffmpeg
    except ImportError:
        return
    environment["PLINTH_FFMPEG"] = imageio_ffmpeg.get_ffmpeg_exe()


def add_readable(environment, folder):
    """Lets fenced jobs read a folder."""
    named = environment.get("PLINTH_FENCE_READABLE")
    environment["PLINTH_FENCE_READABLE"] = f"{named},{folder}" if named else str(folder)


def environment_of(given):
    """The environment of the program: that of the caller, with what is bundled where the machine has none."""
    environment = dict(given)
    if not has_driver(environment):
        add_driver(environment)
    if not environment.get("PLINTH_FFMPEG") and not shutil.which("ffmpeg", path=environment.get("PATH")):
        add_ffmpeg(environment)
    return environment


def main():
    os.execve(PROGRAM, ["plinth", *sys.argv[1:]], environment_of(os.environ))
