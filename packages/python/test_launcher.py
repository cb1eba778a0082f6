"""Tests of the launcher; scripts/wheels.sh runs them before it makes a wheel."""

import os
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
        # The machine has a Vulkan loader only in the tests that say so, and no driver.
        machine = (mock.patch.object(launcher, "has_loader", lambda: self.has_loader), mock.patch.object(launcher, "DRIVER_FOLDERS", ()))
        self.has_loader = False
        for patch in (mock.patch.dict(sys.modules, bundled), *machine):
            patch.start()
            self.addCleanup(patch.stop)
        # A plinth.toml in the current folder is read.
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.home)

    def said(self, *arguments, **variables):
        return launcher.environment_of({**self.given, **variables}, arguments)

    def test_what_is_bundled_is_named_where_the_machine_has_none(self):
        said = self.said()
        self.assertEqual(said["PLINTH_FFMPEG"], "/wheel/ffmpeg")
        self.assertEqual(said["VK_DRIVER_FILES"], "/wheel/plinth_lavapipe/lib")
        self.assertEqual(said["LD_LIBRARY_PATH"], "/wheel/plinth_lavapipe/lib/loader")

    def test_loaders_that_open_no_folders_find_the_driver(self):
        self.assertEqual(self.said()["VK_ICD_FILENAMES"], "/wheel/plinth_lavapipe/lib/lvp_icd.json")
        # The file that scripts/wheels.sh writes.
        script = Path(__file__).parents[2] / "scripts/wheels.sh"
        self.assertIn('>"$lib/lvp_icd.json"', script.read_text())

    def test_a_driver_without_a_loader_gets_the_bundled_loader(self):
        said = self.said(VK_DRIVER_FILES="/card.json")
        self.assertEqual(said["VK_DRIVER_FILES"], "/card.json")
        self.assertNotIn("VK_ICD_FILENAMES", said)
        self.assertEqual(said["LD_LIBRARY_PATH"], "/wheel/plinth_lavapipe/lib/loader")

    def test_a_loader_without_a_driver_gets_the_bundled_driver(self):
        self.has_loader = True
        said = self.said(LD_LIBRARY_PATH="/a")
        self.assertEqual(said["VK_DRIVER_FILES"], "/wheel/plinth_lavapipe/lib")
        self.assertEqual(said["LD_LIBRARY_PATH"], "/a")

    def test_no_setting_of_the_fence_is_replaced(self):
        self.assertNotIn("PLINTH_FENCE_READABLE", self.said())
        self.assertEqual(self.said(PLINTH_FENCE_READABLE="/b")["PLINTH_FENCE_READABLE"], "/b")

    def test_what_the_machine_has_is_preferred(self):
        program = self.home / "bin/ffmpeg"
        program.parent.mkdir()
        program.touch()
        program.chmod(0o755)
        drivers = self.home / ".local/share/vulkan/icd.d"
        drivers.mkdir(parents=True)
        (drivers / "card.json").touch()
        self.has_loader = True
        self.assertEqual(self.said(), self.given)

    def test_what_the_caller_says_stays(self):
        said = self.said(LD_LIBRARY_PATH="/a")
        self.assertEqual(said["LD_LIBRARY_PATH"], "/wheel/plinth_lavapipe/lib/loader:/a")
        self.has_loader = True
        given = {"PLINTH_FFMPEG": "/mine", "VK_ICD_FILENAMES": "/card.json"}
        self.assertEqual(self.said(**given), {**self.given, **given})

    def test_an_ffmpeg_in_the_configuration_file_stays(self):
        named, other = self.home / "named.toml", self.home / "other.toml"
        named.write_text('fence = "off"\n  ffmpeg = "/mine"\n')
        other.write_text('# ffmpeg = "/mine"\nencoder = "ffmpeg = "\n')
        for arguments, variables, is_named in [
            (["serve", "--config", str(named)], {}, True),
            (["serve", f"--config={named}"], {}, True),
            (["serve"], {"PLINTH_CONFIG": str(named)}, True),
            (["serve", "--config", str(other)], {"PLINTH_CONFIG": str(named)}, False),
            (["serve", "--config"], {}, False),
            (["serve", "--config", str(self.home / "none.toml")], {}, False),
            (["admin", "storage", "hold", "--", "dump", "--config", str(named)], {}, False),
        ]:
            with self.subTest(arguments=arguments, variables=variables):
                self.assertEqual("PLINTH_FFMPEG" not in self.said(*arguments, **variables), is_named)
        pipe = self.home / "pipe.toml"
        os.mkfifo(pipe)
        self.assertNotIn("PLINTH_FFMPEG", self.said("serve", "--config", str(pipe)))
        self.assertIn("PLINTH_FFMPEG", self.said("doctor"))
        named.rename(self.home / "plinth.toml")
        self.assertNotIn("PLINTH_FFMPEG", self.said("doctor"))

    def test_the_program_starts_if_the_extra_has_no_ffmpeg(self):
        with mock.patch.object(sys.modules["imageio_ffmpeg"], "get_ffmpeg_exe", side_effect=RuntimeError("No ffmpeg exe could be found")):
            self.assertNotIn("PLINTH_FFMPEG", self.said())

    def test_without_the_extra_nothing_is_named(self):
        with mock.patch.dict(sys.modules, {"plinth_lavapipe": None, "imageio_ffmpeg": None}):
            self.assertEqual(self.said(), self.given)


class Loader(unittest.TestCase):
    def test_a_machine_has_a_loader_if_it_can_be_loaded(self):
        with mock.patch("ctypes.CDLL") as load:
            self.assertTrue(launcher.has_loader())
            load.assert_called_once_with("libvulkan.so.1")
            load.side_effect = OSError("cannot open shared object file")
            self.assertFalse(launcher.has_loader())
        # A Python may have been built without it.
        with mock.patch.dict(sys.modules, {"ctypes": None}):
            self.assertFalse(launcher.has_loader())


if __name__ == "__main__":
    unittest.main()
