//! Tests of `plinth admin` while the server runs.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use plinth_testkit::sha256_hex;
use serde_json::{Value, json};

use super::on_both;
use super::server::{EMAIL, Installation, LIFETIME, Served};
use crate::text;

async fn accounts_and_keys(served: Served) {
    let installation = &served.installation;
    let made = installation.admin(&["account", "create", "Bob@Example.org", "--admin", "--password", "long enough"]);
    assert_eq!(made["email"], "bob@example.org");
    assert_eq!(made["id"].as_str().unwrap().len(), 12);
    let log = installation.admin(&["log"]);
    let newest = (&log["entries"][0]["action"], &log["entries"][0]["account"], &log["total"]);
    assert_eq!(newest, (&json!("make_admin"), &json!("bob@example.org"), &json!(1)), "{log}");
    let twice = installation.try_admin(&["account", "create", "bob@example.org"]);
    assert_eq!(twice.status.code(), Some(1));
    assert_eq!(text(&twice.stderr), "plinth: an account with the address bob@example.org exists already\n");
    let made =
        installation.admin(&["key", "create", "--account", "bob@example.org", "--legacy-prefix", "--name", "old"]);
    let (id, token) = (made["id"].as_str().unwrap(), made["token"].as_str().unwrap());
    assert!(token.starts_with("turntable_sk_"), "{token}");
    let bob = served.client(token);
    assert_eq!(bob.get("/account").await.data()["scopes"], json!(["read", "render"]));
    let listed = || installation.admin(&["key", "list", "--account", "bob@example.org"]);
    let facts =
        |listed: &Value| ["id", "name", "last4", "scopes", "isValid"].map(|fact| listed["keys"][0][fact].clone());
    let expected = [json!(id), json!("old"), json!(token[token.len() - 4..]), json!(["read", "render"]), json!(true)];
    assert_eq!(facts(&listed()), expected);
    installation.admin(&["account", "suspend", "bob@example.org"]);
    assert_eq!(bob.get("/account").await.rejection(), (403, "forbidden"));
    installation.admin(&["account", "unsuspend", "bob@example.org"]);
    assert_eq!(bob.get("/account").await.status, 200);
    installation.admin(&["key", "revoke", id]);
    assert_eq!(bob.get("/account").await.rejection(), (401, "unauthorized"));
    assert_eq!((&listed()["keys"][0]["isValid"], listed().to_string().contains(token)), (&json!(false), false));
    let short = served.client(&installation.key(EMAIL, &["--expires-in", "1"]));
    tokio::time::sleep(LIFETIME).await;
    assert_eq!(short.get("/account").await.rejection(), (401, "token_expired"));
    let reader = served.client(&installation.key(EMAIL, &["--scopes", "read"]));
    assert_eq!(reader.post("/renders", json!({})).await.rejection(), (403, "insufficient_scope"));
    let wrong = installation.try_admin(&["key", "create", "--account", EMAIL, "--scopes", "write"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", text(&wrong.stderr));
}

async fn credits_are_granted_to_either_pool(served: Served) {
    let installation = &served.installation;
    installation.admin(&["credits", "grant", EMAIL, "50"]);
    installation.admin(&["credits", "grant", EMAIL, "7", "--pool", "free"]);
    let account = served.client.get("/account").await;
    assert_eq!((&account.data()["paid"], &account.data()["free"]), (&json!(150), &json!(7)));
    assert_eq!(account.data()["total"], 157);
    let ledger = served.client.get("/purchases").await;
    let kinds: Vec<_> = ledger.body["data"].as_array().unwrap().iter().map(|e| e["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["admin_grant", "admin_grant", "signup_bonus"]);
    let taken = installation.try_admin(&["credits", "grant", EMAIL, "-1000"]);
    assert_eq!(taken.status.code(), Some(1));
}

async fn removing_a_member_takes_effect_at_once(served: Served) {
    let installation = &served.installation;
    let made = installation.admin(&["workspace", "create", "Team", "--owner", EMAIL]);
    let id = made["id"].as_str().unwrap();
    installation.account("bob@example.org");
    let early = installation.try_admin(&["key", "create", "--account", "bob@example.org", "--workspace", id]);
    assert_eq!(early.status.code(), Some(1), "the account is not a member yet");
    installation.admin(&["workspace", "add", id, "bob@example.org", "--role", "viewer"]);
    let early = installation.try_admin(&["key", "create", "--account", "bob@example.org", "--workspace", id]);
    assert_eq!(early.status.code(), Some(1), "only a viewer");
    installation.admin(&["workspace", "add", id, "bob@example.org", "--role", "editor"]);
    let listed = installation.admin(&["workspace", "list", "--account", "bob@example.org"]);
    let team = &listed["workspaces"][1];
    assert_eq!((&team["id"], &team["role"], &team["isPersonal"]), (&json!(id), &json!("editor"), &json!(false)));
    let bob = served.client(&installation.key("bob@example.org", &["--workspace", id]));
    installation.admin(&["credits", "grant", EMAIL, "11"]);
    let account = bob.get("/account").await;
    assert_eq!(account.data()["workspace"], json!({"id": id, "name": "Team"}));
    assert_eq!(account.data()["paid"], 111, "the owner of the workspace pays");
    installation.admin(&["workspace", "remove", id, "bob@example.org"]);
    assert_eq!(bob.get("/account").await.rejection(), (403, "forbidden"));
    installation.admin(&["workspace", "add", id, "bob@example.org", "--role", "editor"]);
    assert_eq!(bob.get("/account").await.status, 200);
    installation.admin(&["workspace", "delete", id]);
    assert_eq!(bob.get("/account").await.rejection(), (403, "forbidden"));
    let unknown = installation.try_admin(&["workspace", "delete", "nonsense"]);
    assert_eq!(text(&unknown.stderr), "plinth: there is no workspace 'nonsense'\n");
}

#[test]
fn commands_in_the_wrong_folder_create_no_installation() {
    let installation = Installation::with_sqlite();
    for args in [&["account", "sign-in", EMAIL][..], &["backup", "nightly"], &["log"]] {
        let done = installation.try_admin(args);
        let (stderr, path) = (text(&done.stderr), installation.folder.path().join("data/plinth.db"));
        assert_eq!(done.status.code(), Some(1), "{args:?}: {stderr}");
        let message = format!("plinth: there is no database {}; name the folder", path.display());
        assert!(stderr.starts_with(&message) && stderr.lines().count() == 1, "{args:?}: {stderr}");
    }
    let create = ["admin", "account", "create", EMAIL];
    let unnamed = installation.program().env_remove("PLINTH_DATA_DIR").args(create).output().unwrap();
    assert!(text(&unnamed.stderr).starts_with("plinth: there is no database "), "{}", text(&unnamed.stderr));
    assert_eq!(std::fs::read_dir(installation.folder.path()).unwrap().count(), 0);
    // A `data_dir` in the configuration file does not let `plinth admin` create a database, because an environment
    // variable may give the server another one.
    let config = installation.folder.path().join("plinth.toml");
    std::fs::write(&config, "data_dir = \"data\"\n").unwrap();
    let mut in_file = installation.program();
    let in_file = in_file.env_remove("PLINTH_DATA_DIR").env("PLINTH_CONFIG", &config).args(create).output().unwrap();
    assert!(text(&in_file.stderr).starts_with("plinth: there is no database "), "{}", text(&in_file.stderr));
    assert_eq!(std::fs::read_dir(installation.folder.path()).unwrap().count(), 1);
    assert!(installation.program().args(create).output().unwrap().status.success(), "before the first start");
}

/// Otherwise people would look for a lost database, or make a new one.
#[test]
fn a_database_that_cannot_be_accessed_is_not_reported_as_missing() {
    let installation = Installation::with_sqlite().with_data_below_a_file();
    let database = installation.folder.path().join("file/data/plinth.db");
    for args in [&["admin", "account", "list"][..], &["migrate", "--check"]] {
        let done = installation.program().args(args).output().unwrap();
        let stderr = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{args:?}: {stderr}");
        assert!(stderr.contains(database.to_str().unwrap()), "{args:?}: {stderr}");
        assert!(stderr.contains("cannot be accessed") || stderr.contains("cannot be opened"), "{args:?}: {stderr}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_create_no_data_folder_if_nothing_is_stored_in_it() {
    let installation = Installation::with_postgres_and_s3().await;
    let migrated = installation.program().arg("migrate").output().unwrap();
    assert!(migrated.status.success(), "{}", text(&migrated.stderr));
    installation.account(EMAIL);
    installation.admin(&["account", "list"]);
    assert_eq!(std::fs::read_dir(installation.folder.path()).unwrap().count(), 0);
}

#[test]
fn a_password_is_one_line_of_standard_input() {
    let installation = Installation::with_sqlite();
    let create = |email: &str, input: &str| {
        let mut program = installation.program();
        program.args(["admin", "account", "create", email, "--password-stdin"]);
        let mut child = program.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let done = child.wait_with_output().unwrap();
        (done.status.code(), text(&done.stderr))
    };
    // The shortest password has 8 characters. The end of the line is not part of it.
    for (email, input) in [("a@example.org", "12345678"), ("b@example.org", "12345678\r\n")] {
        assert_eq!(create(email, input), (Some(0), String::new()), "{input:?}");
    }
    for (input, message) in [
        ("1234567\n", "a password has 8 characters or more"),
        ("1234567\r\n", "a password has 8 characters or more"),
        // The byte order mark, which some editors and shells write at the beginning, is not part of the password either.
        ("\u{FEFF}1234567\n", "a password has 8 characters or more"),
        ("", "a password has 8 characters or more"),
        ("12345678\n12345678\n", "standard input has more than one line"),
    ] {
        let (code, stderr) = create(EMAIL, input);
        assert!(code == Some(1) && stderr.contains(message), "{input:?}: {stderr}");
    }
    let both = ["account", "create", EMAIL, "--password-stdin", "--password", "12345678"];
    assert_eq!(installation.try_admin(&both).status.code(), Some(2));
}

#[test]
fn an_empty_list_is_said_in_words() {
    let installation = Installation::with_sqlite();
    assert!(installation.program().arg("migrate").output().unwrap().status.success());
    for (noun, words) in [
        ("account", "no account was found\n"),
        ("links", "there is no secret yet; the first link creates one\n"),
        ("overlay", "no overlay is published\n"),
        ("environment", "no environment is published\n"),
    ] {
        let done = installation.program().args(["admin", noun, "list"]).output().unwrap();
        assert_eq!(text(&done.stdout), words, "{noun}: {}", text(&done.stderr));
    }
    assert_eq!(installation.admin(&["account", "list"]), json!({"accounts": [], "hasMore": false}));
}

#[test]
fn keys_and_links_live_at_least_a_second() {
    let installation = Installation::with_sqlite();
    for args in [&["account", "sign-in", EMAIL][..], &["key", "create", "--account", EMAIL]] {
        for seconds in ["0", "-1", "99999999999"] {
            let done = installation.try_admin(&[args, &["--expires-in", seconds]].concat());
            assert_eq!(done.status.code(), Some(2), "{args:?} {seconds}: {}", text(&done.stderr));
        }
    }
}

on_both! { accounts_and_keys credits_are_granted_to_either_pool removing_a_member_takes_effect_at_once }

/// Returns the contents of all files in a folder and its subfolders.
fn contents(folder: &Path) -> Vec<Vec<u8>> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { contents(&path) } else { vec![std::fs::read(path).unwrap()] }).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_hash_and_the_last_characters_of_a_key_are_stored() {
    let served = Served::with_sqlite();
    let tokens = [
        served.client.token.clone(),
        served.installation.key(EMAIL, &["--name", "second"]),
        served.installation.key(EMAIL, &["--legacy-prefix"]),
    ];
    for token in &tokens {
        assert_eq!(served.client(token).get("/account").await.status, 200);
        assert_eq!(served.client(&token.to_lowercase()).get("/account").await.rejection(), (401, "unauthorized"));
    }
    let look = |files: &[Vec<u8>]| {
        let has = |text: &str| files.iter().any(|file| file.windows(text.len()).any(|part| part == text.as_bytes()));
        for token in &tokens {
            let secret = token.split_once("_sk_").unwrap().1;
            assert_eq!(secret.len(), 38);
            assert!(has(&sha256_hex(token.as_bytes())) && has(&token[token.len() - 4..]));
            assert!(!has(token) && !has(secret) && !has(&secret[..16]) && !has(&secret[16..32]), "a secret is stored");
        }
    };
    look(&contents(&served.installation.folder.path().join("data")));
    let Served { server, installation, .. } = served;
    assert_eq!(server.end().1, Some(0));
    look(&contents(&installation.folder.path().join("data")));
    assert!(!tokens.iter().any(|token| installation.log().contains(token.as_str())), "a secret is logged");
}
