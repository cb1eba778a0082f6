#!/usr/bin/env python3
"""Writes the files that hostile_memory.sh sends: each is at a limit of the server, is read to its end, and decodes to as much as
the limits allow. The limits are read from the Rust sources, so that the files follow them. Needs no packages.

usage: bench/hostile_files.py FOLDER
"""
import io
import json
import os
import re
import struct
import sys
import zipfile
import zlib
from pathlib import Path

# Number of files of each kind of model. They differ, because a model that is stored already is not checked again.
COPIES = 4
CRATES = Path(__file__).resolve().parent.parent / "crates"


def limit(source, name):
    """Returns the number that a Rust source file assigns to a constant or a field."""
    found = re.findall(rf"\b{name}(?:: \w+ =|:) (\d[\d_]*(?: << \d+)?)[;,]", (CRATES / source).read_text())
    if len(found) != 1:
        sys.exit(f"hostile_files: {source} has {len(found)} numbers with the name {name}")
    first, _, shift = found[0].replace("_", "").partition(" << ")
    return int(first) << int(shift or 0)


def limits(source, *names):
    return [limit(source, name) for name in names]


SPEC = "plinth-spec/src/limits/"
BATCH_BYTES, BATCH_VALUES, RENDER_BYTES, RENDER_VALUES = limits(
    SPEC + "bodies.rs", "JSON_BATCH_BYTES", "JSON_BATCH_VALUES", "JSON_RENDER_BYTES", "JSON_VALUES")
BATCH_ITEMS, MESH_NAMES, MESH_NAME_CHARS = limits(
    SPEC + "renders.rs", "BATCH_ITEMS", "HIDDEN_MESH_NAMES", "HIDDEN_MESH_NAME_CHARS")
ENV_PART_BYTES = limit(SPEC + "assets.rs", "ENV_PART_BYTES")
ZIP_BYTES = limit(SPEC + "models.rs", "ZIP_UNPACKED_BYTES")
# Maximum size of a decoded image, and of the sides of panoramas in files.
IMAGE_SIDE, IMAGE_BYTES = limits("plinth-service/src/check/image.rs", "MAX_SIDE", "MAX_UNPACKED_BYTES")
PANORAMA_SIZE = limits("plinth-scene/src/environment/map.rs", "MAX_FILE_WIDTH", "MAX_FILE_HEIGHT")
NODES, VERTICES, DECODED_BYTES, OBJECTS, VALUES, TEXTURE_SIDE, TEXTURE_PIXELS = limits(
    "plinth-model/src/limits.rs", "nodes", "vertices", "decoded_bytes", "json_objects", "json_values", "image_side", "image_pixels")
OBJ_ELEMENTS = limit("plinth-model/src/obj_zip/obj.rs", "MAX_ELEMENTS")


def png(width, height):
    """Returns a black PNG, which takes a thousandth of its pixels."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    packer, row = zlib.compressobj(9), bytes(1 + 3 * width)
    pixels = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


class Bits:
    """Bits of a WebP stream, the lowest of each byte first."""

    def __init__(self):
        self.value, self.count = 0, 0

    def add(self, value, count):
        self.value |= value << self.count
        self.count += count

    def bytes(self):
        return self.value.to_bytes((self.count + 7) // 8, "little")


def webp(size):
    """Returns a lossless WebP of noise, twice as wide as high, of at most `size` bytes. Each pixel takes three bytes."""
    height = int(((size - 1000) / 6) ** 0.5)
    width = 2 * height
    bits = Bits()
    # No alpha, version 0; no transform, no colour cache, one group of codes.
    for value, count in ((0x2F, 8), (width - 1, 14), (height - 1, 14), (0, 4), (0, 3)):
        bits.add(value, count)
    for symbols in (256 + 24, 256, 256):  # green with lengths of copies, red, blue: a code of 8 bits for each byte
        bits.add(0, 1)
        bits.add(12 - 4, 4)
        for length_of in (17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8):  # only the lengths 8 and 18, a run of zeros, have a code
            bits.add(length_of in (8, 18), 3)
        bits.add(0, 1 + 256)
        if symbols > 256:
            bits.add(1, 1)
            bits.add(symbols - 256 - 11, 7)
    bits.add(0b1 | 0b100 | 255 << 3, 11)  # alpha: always 255
    bits.add(0b1, 4)  # distance: always 0
    data = bits.bytes() + os.urandom(3 * width * height + 1)
    data += bytes(len(data) % 2)
    return struct.pack("<4sI4s4sI", b"RIFF", 12 + len(data), b"WEBP", b"VP8L", len(data)) + data


def hdr(width, height):
    """Returns a Radiance HDR of one colour. Its lines are compressed to a sixtieth."""
    def runs(value):
        whole, rest = divmod(width, 127)
        return bytes([128 + 127, value]) * whole + (bytes([128 + rest, value]) if rest else b"")

    line = struct.pack(">BBH", 2, 2, width) + b"".join(runs(value) for value in (100, 150, 200, 129))
    return f"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {height} +X {width}\n".encode() + line * height


def exr(width, height):
    """Returns an uncompressed OpenEXR with three half floats per pixel."""
    def attribute(name, kind, data):
        return f"{name}\0{kind}\0".encode() + struct.pack("<I", len(data)) + data

    window = struct.pack("<4i", 0, 0, width - 1, height - 1)
    channels = b"".join(name + struct.pack("<xIIII", 1, 0, 1, 1) for name in (b"B", b"G", b"R")) + b"\0"
    head = struct.pack("<II", 20000630, 2) + attribute("channels", "chlist", channels)
    head += attribute("compression", "compression", b"\0")
    head += attribute("dataWindow", "box2i", window) + attribute("displayWindow", "box2i", window)
    head += attribute("lineOrder", "lineOrder", b"\0") + attribute("pixelAspectRatio", "float", struct.pack("<f", 1))
    head += attribute("screenWindowCenter", "v2f", struct.pack("<2f", 0, 0))
    head += attribute("screenWindowWidth", "float", struct.pack("<f", 1)) + b"\0"
    line = struct.pack("<e", 0.5) * (3 * width)
    first = len(head) + 8 * height
    offsets = struct.pack(f"<{height}Q", *(first + y * (8 + len(line)) for y in range(height)))
    return head + offsets + b"".join(struct.pack("<iI", y, len(line)) + line for y in range(height))


def json_values(text):
    """Counts the values of a JSON text as `count_json_values` in plinth-spec does, if its strings contain none of these characters."""
    return 1 + sum(text.count(mark) for mark in (b",", b":", b"[", b"{"))


def at_limit(before, after, most_bytes, most_values):
    """Returns a JSON text with small objects between two texts. It has the maximum number of bytes and of values."""
    count = (most_values - json_values(before + after)) // 3  # `{`, `:` and `,`
    key, rest = divmod(most_bytes - len(before) - len(after), count)
    item = b'{"%s":0}' % (b"k" * (key - len('{"":0},')))
    text = before + b",".join([item] * count) + after
    text += b" " * (most_bytes - len(text))
    if not most_values - 3 <= json_values(text) <= most_values or len(text) != most_bytes or rest >= count:
        sys.exit(f"hostile_files: a JSON text has {len(text)} bytes and {json_values(text)} values")
    return text


def render(settings=b""):
    return b'{"modelId":"k3Jd92LmQx7a","renderSettings":{' + settings + b"}}"


def names_batch():
    """Returns a batch with the maximum number of renders, each with the maximum number of hidden meshes. All are valid."""
    room = BATCH_BYTES // (BATCH_ITEMS * MESH_NAMES) - len('"",') - 1
    names = [f"{number:0>{min(room, MESH_NAME_CHARS)}}" for number in range(MESH_NAMES)]
    one = compact({"hiddenMeshNames": names})
    return b'{"renders":[' + b",".join([one] * BATCH_ITEMS) + b"]}"


def glb(text, binary):
    text += b" " * (-len(text) % 4)
    binary += bytes(-len(binary) % 4)
    body = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(binary), 0x004E4942) + binary
    return struct.pack("<III", 0x46546C67, 2, 12 + len(body)) + body


TRIANGLE = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0)


def triangle(name):
    """Returns the document of a model whose only triangle is [`TRIANGLE`]."""
    return {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0, "name": name}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]}],
        "bufferViews": [{"buffer": 0, "byteLength": len(TRIANGLE)}],
        "buffers": [{"byteLength": len(TRIANGLE)}],
    }


def model_of_images(name, image, count):
    """Returns a model with `count` drawn materials that have an image each. Each image is decoded, though all have the same bytes."""
    document = triangle(name)
    document["buffers"][0]["byteLength"] += len(image)
    document["bufferViews"].append({"buffer": 0, "byteOffset": len(TRIANGLE), "byteLength": len(image)})
    document["images"] = [{"bufferView": 1, "mimeType": "image/png"}] * count
    document["textures"] = [{"source": n} for n in range(count)]
    document["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": n}}} for n in range(count)]
    document["meshes"][0]["primitives"] = [{"attributes": {"POSITION": 0}, "material": n} for n in range(count)]
    return glb(compact(document), TRIANGLE + image)


def model_of_json(name):
    """Returns the document of a model with the maximum number of nodes, objects and values. Most are accessors and indices."""
    document = triangle(name)
    document["nodes"] += [{"mesh": 0}] * (NODES - 1)
    document["scenes"][0]["nodes"] = list(range(NODES))
    document["scenes"].append({"nodes": [0]})
    unused = {"componentType": 5121, "count": 1, "type": "SCALAR"}
    document["accessors"] += [unused] * (OBJECTS - counted(compact(document))[0])
    document["scenes"][1]["nodes"] *= 1 + VALUES - counted(compact(document))[1]
    text = compact(document)
    if counted(text) != (OBJECTS, VALUES):
        sys.exit(f"hostile_files: a model has {counted(text)} objects and values")
    return text


def compact(document):
    return json.dumps(document, separators=(",", ":")).encode()


def counted(text):
    """Counts the objects and values of a document as `check_size` in plinth-model does."""
    return text.count(b"{"), sum(text.count(mark) for mark in (b"{", b"[", b","))


def model_of_accessors(name):
    """Returns a model of a kilobyte with as many points with normals as may be decoded. Its accessors have no data, so all of their
    values are zero."""
    document = triangle(name)
    # A point takes a position, a normal and an index. A kilobyte per object of the document is more than the document takes.
    count = min(VERTICES, (DECODED_BYTES - 1024 * compact(document).count(b"{")) // (12 + 12 + 4))
    document["accessors"] = [{"componentType": 5126, "count": count, "type": "VEC3"}] * 2
    document["meshes"][0]["primitives"] = [{"attributes": {"POSITION": 0, "NORMAL": 1}, "mode": 0}]
    return glb(compact(document), TRIANGLE)


def archive():
    """Returns a ZIP with an OBJ of the maximum size and the maximum number of triangles."""
    # Triangles with vertices of their own. More of them would exceed the memory budget of the conversion.
    own = OBJ_ELEMENTS * 2 // 13
    group, shared = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf -1//1 -2//1 -3//1\n", b"f 1//1 2//1 3//1\n"
    head = b"vn 0 0 1\n"
    left = ZIP_BYTES - len(head) - own * len(group) - (OBJ_ELEMENTS - own) * len(shared)
    comment = b"#" + b" " * 998 + b"\n"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        with out.open("a.obj", "w", force_zip64=True) as file:
            file.write(head)
            for line, count in ((group, own), (shared, OBJ_ELEMENTS - own), (comment, left // len(comment))):
                pieces, rest = divmod(count, 10_000)
                for _ in range(pieces):
                    file.write(line * 10_000)
                file.write(line * rest)
            file.write(b"\n" * (left % len(comment)))
    return packed.getvalue()


def write_all(folder):
    # Bytes after the end of a PNG are ignored. They make each file a new one.
    image = png(IMAGE_SIDE, IMAGE_BYTES // (3 * IMAGE_SIDE))
    for number in range(64):
        (folder / f"image-{number}.png").write_bytes(image + bytes([number]))
    (folder / "part.webp").write_bytes(webp(ENV_PART_BYTES))
    metadata = b'{"":[' + b'{"":0},' * ((ENV_PART_BYTES - 16) // 7) + b"0]}"
    (folder / "part.json").write_bytes(metadata + b" " * (ENV_PART_BYTES - len(metadata)))
    (folder / "panorama.hdr").write_bytes(hdr(*PANORAMA_SIZE))
    (folder / "panorama.exr").write_bytes(exr(*PANORAMA_SIZE))
    before, after = render(b'"x":[]').split(b"]")
    (folder / "order.json").write_bytes(at_limit(before, b"]" + after, RENDER_BYTES, RENDER_VALUES))
    batch = b'{"renders":[' + (render() + b",") * (BATCH_ITEMS - 1)
    (folder / "batch.json").write_bytes(at_limit(batch + before, b"]" + after + b"]}", BATCH_BYTES, BATCH_VALUES))
    (folder / "quote.json").write_bytes(names_batch())
    count = 4
    image = png(TEXTURE_SIDE, TEXTURE_PIXELS // (count * TEXTURE_SIDE))
    document = model_of_json("json")
    packed = archive()
    for number in range(COPIES):
        (folder / f"images-{number}.glb").write_bytes(model_of_images(f"images {number}", image, count))
        (folder / f"accessors-{number}.glb").write_bytes(model_of_accessors(f"accessors {number}"))
        (folder / f"json-{number}.glb").write_bytes(glb(document.replace(b'"json"', b'"json %d"' % number), TRIANGLE))
        (folder / f"obj-{number}.zip").write_bytes(packed)
        with zipfile.ZipFile(folder / f"obj-{number}.zip", "a") as copy:
            copy.comment = b"%d" % number
    (folder / "small.png").write_bytes(png(64, 64))
    for number in range(1000):
        (folder / f"honest-{number}.glb").write_bytes(glb(compact(triangle(f"honest {number}")), TRIANGLE))


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
