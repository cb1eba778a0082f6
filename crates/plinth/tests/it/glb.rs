//! Builders of small models for tests.

/// Builds a GLB file that has only a JSON chunk.
pub(crate) fn with_json(json: &str) -> Vec<u8> {
    pack(json, &[])
}

/// Builds a unit cube of twelve triangles without normals.
pub(crate) fn cube() -> Vec<u8> {
    cubes(&[r#"{"pbrMetallicRoughness":{"baseColorFactor":[0.8,0.2,0.1,1],"metallicFactor":0}}"#], "")
}

/// Builds a row of three cubes: a metal one, a half transparent one, and a glass one.
pub(crate) fn three_cubes() -> Vec<u8> {
    let materials = [
        r#"{"pbrMetallicRoughness":{"baseColorFactor":[0.9,0.7,0.3,1],"roughnessFactor":0.3}}"#,
        r#"{"alphaMode":"BLEND","pbrMetallicRoughness":{"baseColorFactor":[0.1,0.3,0.9,0.5],"metallicFactor":0}}"#,
        r#"{"pbrMetallicRoughness":{"metallicFactor":0,"roughnessFactor":0.1},
            "extensions":{"KHR_materials_transmission":{"transmissionFactor":0.9}}}"#,
    ];
    cubes(&materials, r#""extensionsUsed":["KHR_materials_transmission"],"#)
}

/// Builds a row of cubes, one for each material.
fn cubes(materials: &[&str], extensions: &str) -> Vec<u8> {
    let corners: Vec<[f32; 3]> =
        (0..8_u8).map(|i| [1, 2, 4].map(|bit| if i & bit == 0 { -0.5 } else { 0.5 })).collect();
    let faces: [u16; 36] =
        [0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4, 2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5];
    let mut bin: Vec<u8> = corners.iter().flatten().flat_map(|c| c.to_le_bytes()).collect();
    bin.extend(faces.iter().flat_map(|i| i.to_le_bytes()));
    let each = |item: &dyn Fn(usize) -> String| (0..materials.len()).map(item).collect::<Vec<_>>().join(",");
    let roots = each(&|i| i.to_string());
    let nodes = each(&|i| format!(r#"{{"mesh":{i},"name":"Cube of ice","translation":[{},0,0]}}"#, 1.5 * i as f32));
    let meshes =
        each(&|i| format!(r#"{{"primitives":[{{"attributes":{{"POSITION":0}},"indices":1,"material":{i}}}]}}"#));
    let json = format!(
        r#"{{"asset":{{"version":"2.0"}},{extensions}"scene":0,"scenes":[{{"nodes":[{roots}]}}],
        "nodes":[{nodes}],"meshes":[{meshes}],"materials":[{}],
        "accessors":[{{"bufferView":0,"componentType":5126,"count":8,"type":"VEC3","min":[-0.5,-0.5,-0.5],"max":[0.5,0.5,0.5]}},
            {{"bufferView":1,"componentType":5123,"count":36,"type":"SCALAR"}}],
        "bufferViews":[{{"buffer":0,"byteLength":96}},{{"buffer":0,"byteOffset":96,"byteLength":72}}],
        "buffers":[{{"byteLength":168}}]}}"#,
        materials.join(",")
    );
    pack(&json, &bin)
}

fn pack(json: &str, bin: &[u8]) -> Vec<u8> {
    let mut json = json.as_bytes().to_vec();
    json.resize(json.len().next_multiple_of(4), b' ');
    let chunk = |kind: &[u8; 4], data: &[u8]| {
        let mut out = u32::try_from(data.len()).unwrap().to_le_bytes().to_vec();
        out.extend(kind);
        out.extend(data);
        out
    };
    let mut body = chunk(b"JSON", &json);
    if !bin.is_empty() {
        body.extend(chunk(b"BIN\0", bin));
    }
    let mut out = b"glTF".to_vec();
    out.extend(2_u32.to_le_bytes());
    out.extend(u32::try_from(12 + body.len()).unwrap().to_le_bytes());
    out.extend(body);
    out
}

/// Builds a model of three triangles, which all have the name "a b", and two clips. "Walk" moves the first two
/// triangles, "Turn around" turns the third one.
pub(crate) fn with_clips() -> Vec<u8> {
    let positions = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let (walk, turn) = ([0.0, 2.0], [0.0, 0.5, 1.5]);
    let places = [0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let turns = [0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    let parts: [&[f32]; 5] = [&positions, &walk, &turn, &places, &turns];
    let bin: Vec<u8> = parts.concat().iter().flat_map(|v| v.to_le_bytes()).collect();
    let mut begin = 0;
    let views = parts.map(|part| {
        let view = format!(r#"{{"buffer":0,"byteOffset":{begin},"byteLength":{}}}"#, 4 * part.len());
        begin += 4 * part.len();
        view
    });
    let json = format!(
        r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[0,1,2]}}],
        "nodes":[{{"mesh":0,"name":"a b"}},{{"mesh":0,"name":"a b"}},{{"mesh":0,"name":"a b"}}],
        "meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}},"material":0}}]}}],
        "materials":[{{"name":"Oak wood"}}],
        "animations":[
            {{"name":"Walk","samplers":[{{"input":1,"output":3}}],
              "channels":[{{"sampler":0,"target":{{"node":0,"path":"translation"}}}},
                          {{"sampler":0,"target":{{"node":1,"path":"translation"}}}}]}},
            {{"name":"Turn around","samplers":[{{"input":2,"output":4}}],
              "channels":[{{"sampler":0,"target":{{"node":2,"path":"rotation"}}}}]}}],
        "accessors":[
            {{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3","min":[0,0,0],"max":[1,1,0]}},
            {{"bufferView":1,"componentType":5126,"count":2,"type":"SCALAR","min":[0],"max":[2]}},
            {{"bufferView":2,"componentType":5126,"count":3,"type":"SCALAR","min":[0],"max":[1.5]}},
            {{"bufferView":3,"componentType":5126,"count":2,"type":"VEC3"}},
            {{"bufferView":4,"componentType":5126,"count":3,"type":"VEC4"}}],
        "bufferViews":[{}],
        "buffers":[{{"byteLength":{}}}]}}"#,
        views.join(","),
        bin.len()
    );
    pack(&json, &bin)
}
