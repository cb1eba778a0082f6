"""Starts the program, and tells it of the bundled ffmpeg, Vulkan loader and Vulkan driver, each where the machine has none."""

import os
import re
import shutil
import sys
from pathlib import Path

PROGRAM = Path(__file__).parent / "bin" / "plinth"

# Where the Vulkan loader looks for drivers.
DRIVER_FOLDERS = ("/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/usr/share/vulkan/icd.d")
DRIVER_VARIABLES = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES")

# A line of plinth.toml that names an ffmpeg.
FFMPEG_KEY = re.compile(r"""^[ \t]*["']?ffmpeg["']?[ \t]*=""", re.MULTILINE)


def has_driver(environment):
    """Whether the machine has a Vulkan driver, or a variable names one."""
    if any(environment.get(name) for name in DRIVER_VARIABLES):
        return True
    own = Path(environment.get("XDG_DATA_HOME") or Path(environment.get("HOME", "/"), ".local/share"), "vulkan/icd.d")
    return any(path.suffix == ".json" for folder in (*DRIVER_FOLDERS, own) if Path(folder).is_dir() for path in Path(folder).iterdir())


def has_loader():
    """Whether the machine has a Vulkan loader, or LD_LIBRARY_PATH leads to one."""
    try:
        import ctypes

        ctypes.CDLL("libvulkan.so.1")
    except (ImportError, OSError):
        return False
    return True


def add_vulkan(environment):
    """Names the Vulkan loader and the driver of the wheel `plinth-lavapipe`, each where the machine has none. A machine can have a
    driver without a loader: the description of a graphics card's driver is often mounted into containers.
    """
    try:
        import plinth_lavapipe
    except ImportError:
        return
    folder = Path(plinth_lavapipe.__file__).parent / "lib"
    if not has_driver(environment):
        # The folder, not the file in it that describes the driver: fenced jobs may read what this variable names, and the driver and
        # the libraries that it needs lie there, too.
        environment["VK_DRIVER_FILES"] = str(folder)
        # Loaders that do not know the variable above, such as that of Ubuntu 22.04, read this one, and open no folders.
        environment["VK_ICD_FILENAMES"] = str(folder / "lvp_icd.json")
    if not has_loader():
        libraries = environment.get("LD_LIBRARY_PATH")
        loader = str(folder / "loader")
        environment["LD_LIBRARY_PATH"] = f"{loader}:{libraries}" if libraries else loader


def add_ffmpeg(environment):
    """Names the ffmpeg of the wheel `imageio-ffmpeg`. Installed from its source, this package has none, and raises an error."""
    try:
        import imageio_ffmpeg

        environment["PLINTH_FFMPEG"] = imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, OSError, RuntimeError):
        return


def configuration(arguments, environment):
    """The text of the program's configuration file. None if it can be read only once, such as a pipe. Empty if it cannot be read,
    which the program reports.
    """
    named = environment.get("PLINTH_CONFIG")
    for argument, following in zip(arguments, [*arguments[1:], None]):
        if argument == "--":
            break
        if argument == "--config":
            named = following
        elif argument.startswith("--config="):
            named = argument.partition("=")[2]
    path = Path(named or "plinth.toml")
    try:
        if path.exists() and not path.is_file():
            return None
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def names_ffmpeg(arguments, environment):
    """Whether a variable or the configuration file names an ffmpeg, or the file may name one but can be read only once. The flag is
    not examined, because it overrides both.
    """
    if environment.get("PLINTH_FFMPEG"):
        return True
    text = configuration(arguments, environment)
    return text is None or bool(FFMPEG_KEY.search(text))


def environment_of(given, arguments):
    """The environment of the program: that of the caller, with what is bundled where the machine has none."""
    environment = dict(given)
    add_vulkan(environment)
    if not shutil.which("ffmpeg", path=environment.get("PATH")) and not names_ffmpeg(arguments, environment):
        add_ffmpeg(environment)
    return environment


def main():
    os.execve(PROGRAM, ["plinth", *sys.argv[1:]], environment_of(os.environ, sys.argv[1:]))
