//! The OpenAPI document, which is generated from the code.

use plinth_spec::wire::parameter::{expires_bounds, expires_schema, limit_schema};
use plinth_spec::wire::{ErrorBody, json_request_limits};
use plinth_spec::{ErrorCode, settings};
use serde_json::{Value, json};
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    Components, Content, ContentBuilder, InfoBuilder, OpenApi, OpenApiBuilder, Ref, RefOr, ResponseBuilder,
    ServerBuilder,
};
use utoipa::{PartialSchema as _, ToSchema as _};

use crate::file::BYTES;
use crate::operation_errors::{operation_errors, other_statuses};
use crate::response_headers::{describe_headers, headers};
use crate::v1;

/// Media type of all bodies except files.
pub(crate) const JSON: &str = "application/json";

/// Returns the OpenAPI 3.1 document.
pub fn document() -> Value {
    let mut document = json!(described());
    if let Some(paths) = document["paths"].as_object_mut() {
        // OpenAPI has no wildcards, so a wildcard for the rest of a path becomes an ordinary path parameter.
        *paths = std::mem::take(paths).into_iter().map(|(path, item)| (path.replace("{*", "{"), item)).collect();
    }
    // The schemas of render settings are generated separately, because the macros of `utoipa` cannot express their
    // rules.
    for (name, mut schema) in
        [("RenderSettings", settings::schema()), ("EchoedRenderSettings", settings::echoed_schema())]
    {
        if let Some(members) = schema.as_object_mut() {
            members.remove("$schema");
            // Client generators name a type after the title of its schema. Two schemas with the same title would become
            // one type.
            members.remove("title");
        }
        document["components"]["schemas"][name] = schema;
    }
    document
}

fn described() -> OpenApi {
    let (_router, mut endpoints) = v1::guarded().split_for_parts();
    for_each_operation(&mut endpoints, |path, operation| {
        describe_errors(path, operation);
        describe_limits(operation);
        describe_body(operation);
        describe_parts(operation);
        describe_media_types(operation);
        operation.security = Some(vec![SecurityRequirement::new("key", Vec::<String>::new())]);
    });
    let (_router, open) = v1::open().split_for_parts();
    endpoints.merge(open);
    for_each_operation(&mut endpoints, |_path, operation| describe_headers(operation));
    let info = InfoBuilder::new()
        .title("Plinth")
        .version("1.0.0")
        .description(Some("Renders 3D models as videos and datasets. Clients distinguish errors by their codes."));
    let base = OpenApiBuilder::new().info(info.build()).servers(Some([ServerBuilder::new().url("/v1").build()]));
    let mut components = Components::new();
    let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("An API key.")).build();
    components.add_security_scheme("key", SecurityScheme::Http(scheme));
    let mut schemas = Vec::new();
    ErrorBody::schemas(&mut schemas);
    schemas.push((ErrorBody::name().into_owned(), ErrorBody::schema()));
    components.schemas.extend(schemas);
    components.headers.extend(headers());
    let mut document = base.components(Some(components)).build();
    document.merge(endpoints);
    document
}

fn for_each_operation(document: &mut OpenApi, mut describe: impl FnMut(&str, &mut Operation)) {
    for (path, item) in &mut document.paths.paths {
        let operations =
            [&mut item.get, &mut item.post, &mut item.patch, &mut item.delete].into_iter().filter_map(Option::as_mut);
        for operation in operations {
            describe(path, operation);
        }
    }
}

/// Adds bounds and defaults from [`plinth_spec::limits`] to parameters. The attributes of the handlers cannot contain them, because
/// attributes cannot refer to constants.
fn describe_limits(operation: &mut Operation) {
    for parameter in operation.parameters.iter_mut().flatten() {
        let RefOr::T(parameter) = parameter else { continue };
        let (description, schema) = match parameter.name.as_str() {
            "limit" => ("Maximum number of rows on the page.".to_owned(), limit_schema()),
            "expires" => (format!("Lifetime of the link in seconds; {}.", expires_bounds()), expires_schema()),
            _ => continue,
        };
        parameter.description = Some(description);
        parameter.schema = Some(schema.into());
    }
}

/// Adds the size limits of an operation's JSON body to the body's description.
fn describe_body(operation: &mut Operation) {
    let Some(RefOr::T(body)) = &mut operation.request_body else { return };
    let text = json!(body.content.get("application/json")).to_string();
    let name = text.rsplit_once("schemas/").and_then(|(_, rest)| rest.split('"').next()).unwrap_or_default();
    if let Some((bytes, values)) = json_request_limits(name) {
        body.description = Some(format!("At most {bytes} bytes and {values} values."));
    }
}

/// Adds the responses 206 and 304 to operations that return a file.
fn describe_parts(operation: &mut Operation) {
    let responses = &mut operation.responses.responses;
    if !responses.contains_key(&ErrorCode::RangeNotSatisfiable.status().to_string()) {
        return;
    }
    if let Some(RefOr::T(whole)) = responses.get("200") {
        let mut part = whole.clone();
        "The part of the file that `Range` requests.".clone_into(&mut part.description);
        responses.insert("206".to_owned(), part.into());
    }
    let description = "The file has not changed: its `ETag` is in `If-None-Match`.";
    responses.insert("304".to_owned(), ResponseBuilder::new().description(description).build().into());
}

/// Adds further media types to responses with files: the types that a file may have, and plain bytes for generated
/// clients that support no other type.
fn describe_media_types(operation: &mut Operation) {
    let others = match operation.operation_id.as_deref() {
        Some("get_video") => &["video/quicktime"][..],
        Some("get_hls_file") => {
            &["application/vnd.apple.mpegurl", "image/jpeg", "text/vtt", "video/iso.segment", "video/mp4"]
        }
        _ => &[],
    };
    for response in operation.responses.responses.values_mut() {
        let RefOr::T(response) = response else { continue };
        if response.content.keys().any(|media_type| media_type != JSON) {
            let all = others.iter().chain([&BYTES]).map(|media_type| (*media_type).to_owned());
            response.content.extend(all.map(|media_type| (media_type, Content::default().into())));
        }
    }
}

/// Adds the error responses of an operation. There is one response for each status, which lists its error codes.
fn describe_errors(path: &str, operation: &mut Operation) {
    let id = operation.operation_id.as_deref().unwrap_or_default();
    let mut codes = operation_errors(id, path);
    codes.sort_by_key(|code| (code.status(), code.as_str()));
    codes.dedup();
    let statuses = |code: &ErrorCode| std::iter::once(code.status()).chain(code.other_statuses().iter().copied());
    let of_codes = codes.iter().flat_map(|code| statuses(code).map(|s| (s, *code)));
    let mut all: Vec<(u16, ErrorCode)> = of_codes.chain(other_statuses(id)).collect();
    all.sort_by_key(|(status, code)| (*status, code.as_str()));
    for group in all.chunk_by(|a, b| a.0 == b.0) {
        let meanings: Vec<String> =
            group.iter().map(|(_, code)| format!("`{}`: {}", code.as_str(), code.meaning())).collect();
        let body = ContentBuilder::new().schema(Some(Ref::from_schema_name("ErrorBody"))).build();
        let response = ResponseBuilder::new().description(meanings.join(" ")).content(JSON, body).build();
        operation.responses.responses.insert(group[0].0.to_string(), response.into());
    }
}
