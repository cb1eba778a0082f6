//! Flag, variable, file.

use plinth_testkit::Client;

use super::server::Place;
use crate::{plinth, text};

#[tokio::test]
async fn a_flag_beats_a_variable_and_that_beats_the_file() {
    let limit = async |place: &Place, args: &[&str]| {
        let server = place.serve(&[&["--no-worker"], args].concat());
        let token = place.key("admin@plinth.local", &[]);
        let answer = Client::new(&server.base, &token).get("/account").await;
        let limit = answer.headers["ratelimit-limit"].to_str().unwrap().to_owned();
        server.end();
        limit
    };
    let place = Place::alone();
    assert_eq!(limit(&place, &[]).await, "300");
    std::fs::write(place.folder.path().join("plinth.toml"), "rate_limit_per_minute = 7\n").unwrap();
    assert_eq!(limit(&place, &[]).await, "7");
    let place = place.set("PLINTH_RATE_LIMIT_PER_MINUTE", "8");
    assert_eq!(limit(&place, &[]).await, "8");
    assert_eq!(limit(&place, &["--rate-limit-per-minute", "9"]).await, "9");
}

#[tokio::test]
async fn the_file_lists_credit_packs() {
    let place = Place::alone();
    let pack = "[[products]]\nid = \"small\"\nname = \"Small\"\ncredits = 500\nprice_cents = 900\nprice_reference = \"price_1\"\n";
    std::fs::write(place.folder.path().join("plinth.toml"), pack).unwrap();
    let server = place.serve(&["--no-worker"]);
    let client = Client::new(&server.base, &place.account("ada@example.org"));
    let expected = serde_json::json!([
        {"id": "small", "name": "Small", "credits": 500, "priceCents": 900, "stripePriceId": "price_1"}
    ]);
    assert_eq!(client.get("/products").await.data(), &expected);
}

#[test]
fn the_documentation_has_the_configuration_of_the_code() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations.md")).unwrap();
    let table = text(&plinth(&["settings", "--configuration"]).stdout);
    let missing: Vec<&str> = table.lines().filter(|line| !page.contains(line)).collect();
    assert!(table.lines().count() > 20 && missing.is_empty(), "run `make generate`; missing: {missing:#?}");
}

#[test]
fn the_printed_document_is_the_served_one() {
    let printed: serde_json::Value = serde_json::from_slice(&plinth(&["openapi"]).stdout).unwrap();
    assert_eq!(printed["openapi"], "3.1.0");
    assert!(printed["paths"]["/renders"]["post"].is_object());
}
