"""Tests that what deploys Plinth names images by version, from registries that serve them; deploy/helm/test.sh calls them."""

import re
import unittest
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
# Docker Hub removed these repositories in September 2026, and Quay stopped serving them to everybody.
WITHDRAWN = ("minio/", "docker.io/minio/", "quay.io/minio/")


def composed():
    services = yaml.safe_load((HERE / "compose.yaml").read_text())["services"]
    # A variable with a default is that default.
    return {name: re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", service["image"]) for name, service in services.items()}


def based_on():
    lines = (HERE.parent / "Containerfile").read_text().splitlines()
    return {f"Containerfile:{number}": line.split()[1] for number, line in enumerate(lines, 1) if line.startswith("FROM ")}


class Images(unittest.TestCase):
    def test_every_image_has_a_version(self):
        for place, image in {**composed(), **based_on()}.items():
            with self.subTest(place=place, image=image):
                name, _, tag = image.rpartition(":")
                self.assertTrue(name, "no tag")
                self.assertNotIn("/", tag, "no tag")
                # A number, or a release of Debian by name.
                self.assertRegex(tag, r"^(v?[0-9]+(\.[0-9]+)*|(trixie|forky)-slim)$")

    def test_no_image_was_withdrawn(self):
        for place, image in composed().items():
            with self.subTest(place=place):
                self.assertFalse(image.startswith(WITHDRAWN), image)

    def test_what_a_service_waits_for_says_when_it_is_ready(self):
        services = yaml.safe_load((HERE / "compose.yaml").read_text())["services"]
        for name, service in services.items():
            for other, wait in service.get("depends_on", {}).items():
                with self.subTest(service=name, other=other):
                    if wait["condition"] == "service_healthy":
                        self.assertIn("healthcheck", services[other])
                    else:
                        self.assertEqual(services[other]["restart"], "no", "it never completes")


if __name__ == "__main__":
    unittest.main()
