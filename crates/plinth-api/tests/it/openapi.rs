//! Tests of the OpenAPI document.

use std::collections::BTreeSet;

use plinth_spec::idempotency::REPLAY_MS;
use plinth_spec::state::ModelStates;
use plinth_spec::{EnvPart, ErrorCode, FailureCode, limits};
use serde_json::{Value, json};

fn document() -> Value {
    plinth_api::document()
}

fn operations(document: &Value) -> Vec<(String, Value)> {
    let items = document["paths"].as_object().unwrap().iter();
    items
        .flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().iter();
            methods.map(move |(method, operation)| (format!("{method} {path}"), operation.clone()))
        })
        .collect()
}

#[test]
fn the_document_is_openapi_3_1_and_has_every_endpoint() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], "1.0.0");
    let names: BTreeSet<String> = operations(&document).into_iter().map(|(name, _)| name).collect();
    for name in [
        "post /models",
        "post /models/ingest",
        "post /models/create-upload-url",
        "post /models/finalize",
        "post /models/check-hash",
        "get /models",
        "get /models/{modelId}",
        "patch /models/{modelId}",
        "delete /models/{modelId}",
        "patch /models/{modelId}/archive",
        "patch /models/{modelId}/unarchive",
        "get /models/{modelId}/file",
        "get /models/{modelId}/file-url",
        "post /renders",
        "post /renders/batch",
        "get /renders",
        "get /renders/{id}",
        "patch /renders/{id}/dismiss",
        "post /renders/{id}/cancel",
        "delete /renders/{id}",
        "get /renders/{id}/video",
        "get /renders/{id}/poster",
        "get /renders/{id}/thumb",
        "get /renders/{id}/bundle",
        "get /renders/{id}/hls",
        "get /renders/{id}/download-url",
        "get /renders/{id}/dataset",
        "post /overlays",
        "get /overlays",
        "delete /overlays/{id}",
        "post /overlays/resolve",
        "post /assets/textures",
        "get /assets/textures",
        "delete /assets/textures/{id}",
        "post /assets/envs",
        "get /assets/envs",
        "delete /assets/envs/{id}",
        "get /account",
        "post /quote",
        "get /products",
        "get /purchases",
        "get /health",
    ] {
        assert!(names.contains(name), "{name} is missing in {names:?}");
    }
}

#[test]
fn every_reference_resolves() {
    let document = document();
    let mut open = vec![&document];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                    let pointer = reference.trim_start_matches('#');
                    assert!(document.pointer(pointer).is_some(), "{reference}");
                }
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
}

#[test]
fn schemas_use_the_field_names_of_the_json_bodies() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["Scope"]["enum"], serde_json::json!(["read", "render"]));
    assert_eq!(schemas["RenderStatus"]["enum"][1], "poster-processing");
    assert_eq!(schemas["FailureCode"]["enum"], json!(FailureCode::NAMES));
    let failure_code = schemas["Render"]["properties"]["failureCode"].to_string();
    assert!(failure_code.contains("#/components/schemas/FailureCode"), "{failure_code}");
    assert!(document["paths"]["/renders/{id}/hls/{path}"].is_object());
}

/// Client generators name a type after the title of its schema. If the names of two types collide, they leave out the
/// operations that use these types.
#[test]
fn titles_and_schema_names_do_not_collide() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let mut names: Vec<String> = schemas.keys().map(|name| name.to_lowercase()).collect();
    names.extend(schemas.values().filter_map(|schema| schema["title"].as_str()).map(str::to_lowercase));
    let unique: BTreeSet<&String> = names.iter().collect();
    assert_eq!(unique.len(), names.len(), "{names:?}");
}

#[test]
fn every_file_is_also_offered_as_plain_bytes() {
    let document = document();
    let mut files = 0;
    for (name, operation) in operations(&document) {
        for response in operation["responses"].as_object().unwrap().values() {
            let Some(content) = response["content"].as_object() else { continue };
            if content.keys().any(|media_type| media_type != "application/json") {
                assert!(content.contains_key("application/octet-stream"), "{name}: {content:?}");
                files += 1;
            }
        }
    }
    assert_eq!(files, 14, "eight endpoints return files, and all except bundle and preview support ranges");
    let video = &document["paths"]["/renders/{id}/video"]["get"]["responses"]["200"]["content"];
    assert!(video["video/quicktime"].is_object() && video["video/mp4"].is_object(), "{video}");
}

#[test]
fn responses_declare_their_headers() {
    let document = document();
    let mut files = 0;
    for (name, operation) in operations(&document) {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let has = |header: &str| response["headers"].get(header).is_some();
            assert!(has("x-request-id"), "{name} {status}");
            assert_eq!(has("www-authenticate"), status == "401", "{name} {status}");
            assert_eq!(has("retry-after"), ["429", "500"].contains(&status.as_str()), "{name} {status}");
            assert_eq!(has("content-range"), ["206", "416"].contains(&status.as_str()), "{name} {status}");
            for header in ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"] {
                assert_eq!(has(header), name != "get /health", "{name} {status}: {header}");
            }
            assert_eq!(has("etag"), has("accept-ranges"), "{name} {status}");
            files += usize::from(has("etag"));
        }
    }
    assert_eq!(files, 18, "the statuses 200, 206 and 304 of six endpoints");
    let headers = document["components"]["headers"].as_object().unwrap();
    for (name, header) in headers {
        assert!(header["schema"]["type"].is_string() && header["description"].is_string(), "{name}: {header}");
    }
}

#[test]
fn render_settings_have_a_schema_with_fields() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["RenderSettings"]["properties"]["zoom"]["maximum"], 2.0);
    assert_eq!(schemas["RenderSettings"]["properties"]["videoLength"]["deprecated"], true);
    assert!(
        schemas["RenderSettings"]["properties"]["preview"].is_null(),
        "clients cannot send `preview`, which only the server sets"
    );
    assert_eq!(schemas["EchoedRenderSettings"]["properties"]["preview"]["type"], "boolean");
    let body = schemas["CreateRender"]["properties"]["renderSettings"].to_string();
    assert!(body.contains("#/components/schemas/RenderSettings"), "{body}");
}

#[test]
fn every_error_code_appears_in_the_document() {
    let document = document();
    let text: String = operations(&document).iter().map(|(_, operation)| operation["responses"].to_string()).collect();
    for code in ErrorCode::ALL {
        // `method_not_allowed` is returned only for methods that no operation has, so no operation lists it.
        if *code != ErrorCode::MethodNotAllowed {
            assert!(text.contains(&format!("`{}`", code.as_str())), "{}", code.as_str());
        }
    }
}

/// The model cannot be drawn with these settings (422), or the service failed (500).
#[test]
fn previews_list_errors_of_the_request_and_of_the_service() {
    let document = document();
    for name in ["preview", "preview/surfaces", "preview/cameras"] {
        let responses = &document["paths"][format!("/models/{{modelId}}/{name}")]["post"]["responses"];
        let statuses: BTreeSet<&str> = responses.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(statuses, BTreeSet::from(["200", "400", "401", "403", "404", "422", "429", "500"]), "{name}");
        for (status, code) in [("422", "`invalid_settings`"), ("500", "`internal`")] {
            let description = responses[status]["description"].as_str().unwrap();
            assert!(description.contains(code), "{name}: {description}");
        }
    }
}

#[test]
fn operations_need_the_key_except_health() {
    let document = document();
    for (name, operation) in operations(&document) {
        let needs_key = operation["security"].to_string().contains("key");
        assert_eq!(needs_key, name != "get /health", "{name}");
        assert_eq!(operation["responses"].get("401").is_some(), needs_key, "{name}");
    }
}

/// The attributes of handlers repeat some limits as literals, because attributes cannot refer to constants.
#[test]
fn bounds_and_defaults_match_the_limits() {
    let document = document();
    let operations =
        document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values());
    let parameters: Vec<&Value> =
        operations.filter_map(|operation| operation["parameters"].as_array()).flatten().collect();
    let named = |name: &str| -> Vec<&Value> {
        let found: Vec<_> = parameters.iter().copied().filter(|parameter| parameter["name"] == name).collect();
        assert!(found.len() > 1, "{name}");
        found
    };
    for limit in named("limit") {
        let schema = &limit["schema"];
        assert_eq!((&schema["default"], &schema["maximum"]), (&json!(limits::PAGE_DEFAULT), &json!(limits::PAGE_MAX)));
    }
    let bounds = format!("clamped to {} to {}", limits::EXPIRES_MIN_SECS, limits::EXPIRES_MAX_SECS);
    for expires in named("expires") {
        assert_eq!(expires["schema"]["default"], limits::EXPIRES_DEFAULT_SECS);
        assert!(expires["description"].as_str().unwrap().contains(&bounds), "{expires}");
    }
    let schemas = &document["components"]["schemas"];
    for (schema, most) in [("CreateBatch", limits::BATCH_ITEMS), ("QuoteRequest", limits::QUOTE_ITEMS)] {
        let renders = &schemas[schema]["properties"]["renders"];
        assert_eq!((&renders["minItems"], &renders["maxItems"]), (&json!(1), &json!(most)), "{schema}");
    }
    let property = |schema: &str, name: &str| &schemas[schema]["properties"][name];
    for schema in ["ModelRow", "UpdateModel"] {
        assert_eq!(property(schema, "tags")["maxItems"], limits::TAGS, "{schema}");
    }
    for name in ["title", "sku"] {
        assert_eq!(property("UpdateModel", name)["maxLength"], limits::TITLE_CHARS, "{name}");
    }
    assert_eq!(property("IngestModel", "url")["maxLength"], limits::URL_CHARS);
    let search = parameters.iter().find(|parameter| parameter["name"] == "search").unwrap();
    assert_eq!(search["schema"]["maxLength"], limits::TITLE_CHARS);
    let of_models = document["paths"]["/models"]["get"]["parameters"].as_array().unwrap();
    let status = of_models.iter().find(|parameter| parameter["name"] == "status").unwrap();
    assert_eq!(status["schema"]["pattern"], format!("^({})$", ModelStates::NAMES.join("|")));
    assert_eq!(status["schema"]["default"], ModelStates::DEFAULT.as_str());
}

/// Descriptions repeat some limits as numbers, because doc comments cannot refer to constants.
#[test]
fn descriptions_name_the_limits() {
    let document = document();
    let megabytes = |bytes: u64| format!("at most {} MB", bytes >> 20);
    let characters = |count: usize| format!("At most {count} characters.");
    let mut promises = vec![
        ("UploadForm", "file", format!("At most {} GB", limits::MODEL_FILE_BYTES >> 30)),
        ("TextureForm", "file", megabytes(limits::IMAGE_BYTES)),
        ("TextureForm", "name", characters(limits::ASSET_NAME_CHARS)),
        ("EnvForm", "name", characters(limits::ASSET_NAME_CHARS)),
        ("OverlayForm", "file", megabytes(limits::IMAGE_BYTES)),
        ("OverlayForm", "name", characters(limits::ASSET_NAME_CHARS)),
        ("OverlayForm", "description", characters(limits::OVERLAY_DESCRIPTION_CHARS)),
    ];
    promises.extend(EnvPart::NAMES.iter().map(|part| ("EnvForm", *part, megabytes(limits::ENV_PART_BYTES))));
    for (form, field, promise) in promises {
        let description = &document["components"]["schemas"][form]["properties"][field]["description"];
        assert!(description.as_str().unwrap_or_default().contains(&promise), "{form}.{field}: {description}");
    }
    let headers = document["paths"]["/renders"]["post"]["parameters"].as_array().unwrap();
    let key = headers.iter().find(|parameter| parameter["name"] == "Idempotency-Key").unwrap();
    let promise = format!("within {} minutes", REPLAY_MS / 60_000);
    assert!(key["description"].as_str().unwrap().contains(&promise), "{key}");
}
