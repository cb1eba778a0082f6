"""Builds and writes GLB files."""

import json
import struct

import numpy as np

COMPONENTS = {"f4": 5126, "u1": 5121, "i1": 5120, "u2": 5123, "i2": 5122, "u4": 5125}
SHAPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}


class Glb:
    """A glTF document with one buffer. Most methods add an object to the document and return its index."""

    def __init__(self):
        self.bin = bytearray()
        self.document = {"asset": {"version": "2.0", "generator": "plinth scripts/compare"}, "scene": 0,
                         "scenes": [{"nodes": []}]}

    def add(self, what, value):
        entries = self.document.setdefault(what, [])
        entries.append(value)
        return len(entries) - 1

    def view(self, data, **more):
        self.bin += b"\0" * (-len(self.bin) % 4)
        entry = {"buffer": 0, "byteOffset": len(self.bin), "byteLength": len(data), **more}
        self.bin += data
        return self.add("bufferViews", entry)

    def accessor(self, values, kind="f4", normalized=False):
        """Adds an accessor for values of shape (count,) or (count, components). Rows are padded to four bytes."""
        values = np.asarray(values, dtype="<" + kind)
        values = values.reshape(len(values), -1)
        width = values.shape[1]
        used, padded = values.itemsize * width, -(-values.itemsize * width // 4) * 4
        vertex = width in (2, 3, 4) and used != padded
        rows = np.zeros((len(values), padded if vertex else used), np.uint8)
        rows[:, :used] = np.frombuffer(values.tobytes(), np.uint8).reshape(len(values), used)
        view = self.view(rows.tobytes(), **({"byteStride": padded} if vertex else {}))
        entry = {"bufferView": view, "componentType": COMPONENTS[kind], "count": len(values), "type": SHAPES[width],
                 "min": values.min(0).tolist(), "max": values.max(0).tolist()}
        if normalized:
            entry["normalized"] = True
        return self.add("accessors", entry)

    def texture(self, data, mime="image/png", **sampler):
        image = self.add("images", {"bufferView": self.view(data), "mimeType": mime})
        texture = {"source": image}
        if sampler:
            texture["sampler"] = self.add("samplers", sampler)
        if mime == "image/webp":
            texture = {**texture, "extensions": {"EXT_texture_webp": {"source": texture.pop("source")}}}
            self.uses("EXT_texture_webp")
        return self.add("textures", texture)

    def uses(self, extension):
        names = self.document.setdefault("extensionsUsed", [])
        if extension not in names:
            names.append(extension)

    def material(self, color=(1, 1, 1, 1), rough=1.0, metal=0.0, texture=None, extensions=None, **more):
        """Adds a material. `texture` is the texture of the base colour: its index, or a texture info."""
        pbr = {"baseColorFactor": list(color), "roughnessFactor": rough, "metallicFactor": metal}
        if texture is not None:
            pbr["baseColorTexture"] = {"index": texture} if isinstance(texture, int) else texture
        entry = {"pbrMetallicRoughness": pbr, **more}
        if extensions:
            entry["extensions"] = extensions
            for name in extensions:
                self.uses(name)
        for info in self.infos(entry):
            for name in info.get("extensions", {}):
                self.uses(name)
        return self.add("materials", entry)

    def infos(self, value):
        """Yields all texture infos in the JSON of a material."""
        if isinstance(value, dict):
            if "index" in value:
                yield value
            for below in value.values():
                yield from self.infos(below)

    def primitive(self, shape, material=None, mode=None, targets=None, **attributes):
        """Returns a primitive. `shape` is a dictionary with arrays POSITION, NORMAL, TEXCOORD_0 … and "indices", or their accessors."""
        shape = {**shape, **attributes}
        indices = shape.pop("indices", None)
        out = {"attributes": {name: v if isinstance(v, int) else self.accessor(v) for name, v in shape.items()}}
        if indices is not None:
            out["indices"] = indices if isinstance(indices, int) else self.accessor(indices, "u4")
        for name, value in (("material", material), ("mode", mode)):
            if value is not None:
                out[name] = value
        if targets:
            out["targets"] = [{k: self.accessor(v) for k, v in target.items()} for target in targets]
        return out

    def mesh(self, shape, material=None, weights=None, **more):
        entry = {"primitives": [self.primitive(shape, material, **more)]}
        if weights is not None:
            entry["weights"] = weights
        return self.add("meshes", entry)

    def node(self, at=None, root=True, **node):
        if at is not None:
            node["translation"] = [float(x) for x in at]
        index = self.add("nodes", node)
        if root:
            self.document["scenes"][0]["nodes"].append(index)
        return index

    def put(self, shape, material=None, at=(0, 0, 0), root=True, **node):
        """Adds a node with its own mesh."""
        return self.node(at, root, mesh=self.mesh(shape, material), **node)

    def clip(self, name, *channels):
        """Adds an animation. A channel is (node, path, times, values, interpolation[, kind of number])."""
        entry = {"name": name, "samplers": [], "channels": []}
        for node, path, times, values, interpolation, *kind in channels:
            output = self.accessor(values, *kind, normalized=bool(kind))
            sampler = {"input": self.accessor(times), "output": output, "interpolation": interpolation}
            entry["samplers"].append(sampler)
            target = {"node": node, "path": path}
            entry["channels"].append({"sampler": len(entry["samplers"]) - 1, "target": target})
        return self.add("animations", entry)

    def write(self, path):
        self.bin += b"\0" * (-len(self.bin) % 4)
        self.document["buffers"] = [{"byteLength": len(self.bin)}]
        text = json.dumps(self.document).encode()
        text += b" " * (-len(text) % 4)
        total = 12 + 8 + len(text) + 8 + len(self.bin)
        head = struct.pack("<4sIII4s", b"glTF", 2, total, len(text), b"JSON")
        path.write_bytes(head + text + struct.pack("<I4s", len(self.bin), b"BIN\0") + bytes(self.bin))
