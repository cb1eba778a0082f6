"""Tests of the launcher; scripts/wheels.sh runs them before it makes a wheel."""

import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent / "plinth/src"))

from plinth import launcher  # noqa: E402


class Environment(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.home = Path(self.folder.name)
        self.given = {"HOME": str(self.home), "PATH": str(self.home / "bin")}
        bundled = {
            "plinth_lavapipe": types.SimpleNamespace(__file__="/wheel/plinth_lavapipe/__init__.py"),
            "imageio_ffmpeg": types.SimpleNamespace(get_ffmpeg_exe=lambda: "/wheel/ffmpeg"),
        }
        for patch in (mock.patch.dict(sys.modules, bundled), mock.patch.object(launcher, "DRIVER_FOLDERS", ())):
            patch.start()
            self.addCleanup(patch.stop)

    def test_what_is_bundled_is_named_where_the_machine_has_none(self):
        said = launcher.environment_of(self.given)
        self.assertEqual(said["PLINTH_FFMPEG"], "/wheel/ffmpeg")
        self.assertEqual(said["VK_DRIVER_FILES"], "/wheel/plinth_lavapipe/lib/lvp_icd.json")
        self.assertEqual(said["LD_LIBRARY_PATH"], "/wheel/plinth_lavapipe/lib/loader")
        self.assertEqual(said["PLINTH_FENCE_READABLE"], "/wheel/plinth_lavapipe/lib")

    def test_what_the_machine_has_is_preferred(self):
        program = self.home / "bin/ffmpeg"
        program.parent.mkdir()
        program.touch()
        program.chmod(0o755)
        drivers = self.home / ".local/share/vulkan/icd.d"
        drivers.mkdir(parents=True)
        (drivers / "card.json").touch()
        self.assertEqual(launcher.environment_of(self.given), self.given)

    def test_what_the_caller_says_stays(self):
        given = {**self.given, "PLINTH_FFMPEG": "/mine", "VK_ICD_FILENAMES": "/card.json"}
        self.assertEqual(launcher.environment_of(given), given)
        said = launcher.environment_of({**self.given, "LD_LIBRARY_PATH": "/a", "PLINTH_FENCE_READABLE": "/b"})
        self.assertEqual(said["LD_LIBRARY_PATH"], "/wheel/plinth_lavapipe/lib/loader:/a")
        self.assertEqual(said["PLINTH_FENCE_READABLE"], "/b,/wheel/plinth_lavapipe/lib")

    def test_without_the_extra_nothing_is_named(self):
        with mock.patch.dict(sys.modules, {"plinth_lavapipe": None, "imageio_ffmpeg": None}):
            self.assertEqual(launcher.environment_of(self.given), self.given)


if __name__ == "__main__":
    unittest.main()
