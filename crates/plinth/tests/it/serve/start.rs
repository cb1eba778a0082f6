//! Tests of starting and stopping the server, and of errors at the start.

use std::io::Write as _;
use std::net::TcpListener;
use std::process::Command;

use plinth_testkit::{Answer, Client, Form, glb_with_triangle};
use serde_json::json;

use super::browser::Browser;
use super::server::{Installation, Served};
use crate::text;

#[tokio::test]
async fn the_first_start_shows_a_link_and_a_key_once_and_both_work() {
    let installation = Installation::with_sqlite();
    let server = installation.serve(&["--no-worker"]);
    let base = server.base.clone();
    let (printed, code) = server.end();
    assert_eq!(code, Some(0), "{}", installation.log());
    let link = printed.split_whitespace().find_map(|word| word.strip_prefix(&format!("{base}/sign-in/"))).unwrap();
    let token = printed.split_whitespace().find(|word| word.starts_with("plinth_sk_")).unwrap().to_owned();
    assert!(printed.contains(&format!("{base}/v1/models")) && printed.contains("turntable.mp4"), "{printed}");
    let server = installation.serve(&["--no-worker"]);
    let client = Client::new(&server.base, &token);
    let account = client.get("/account").await;
    assert_eq!((account.text("email").as_str(), account.data()["paid"].as_u64()), ("admin@plinth.local", Some(100)));
    // An administrator may order videos of any length, because the price limits it.
    let quote = client.post("/quote", json!({"renders": [{"quality": "share", "length": 500}]})).await;
    assert_eq!(quote.data()["creditsRequired"], 500);
    let mut browser = Browser::new(&server.base);
    assert_eq!(browser.post(&format!("/sign-in/{link}"), &[]).await.status, 303);
    let keys = browser.get("/keys").await;
    assert!(keys.shows("admin@plinth.local") && keys.shows("first start"), "{}", keys.html);
    let (printed, _) = server.end();
    assert_eq!(printed, "", "the second start prints nothing");
}

#[test]
fn the_printed_command_finds_the_installation_from_any_folder() {
    let installation = Installation::with_sqlite();
    std::fs::write(installation.folder.path().join("my.toml"), "").unwrap();
    let args = ["--no-worker", "--data", "it's here", "--config", "my.toml", "--public-url", "https://a.example"];
    let (printed, _code) = installation.serve(&args).end();
    assert!(!printed.contains("--listen 127.0.0.1:0"), "{printed}");
    let command = printed.lines().find_map(|line| line.strip_prefix("Another sign-in link: plinth ")).unwrap();
    let done = Command::new("sh")
        .args(["-c", &format!("\"$PLINTH\" {command}")])
        .env_clear()
        .env("PLINTH", env!("CARGO_BIN_EXE_plinth"))
        .current_dir("/")
        .output()
        .unwrap();
    assert!(done.status.success(), "{command}: {}", text(&done.stderr));
    assert!(text(&done.stdout).contains("https://a.example/sign-in/"), "{command}: {}", text(&done.stdout));
}

#[test]
fn a_start_without_an_administrator_says_how_to_make_one() {
    let installation = Installation::with_sqlite();
    installation.admin(&["account", "create", "ada@example.org"]);
    let (printed, _code) = installation.serve(&["--no-worker"]).end();
    assert!(
        printed.contains("No account is an administrator") && printed.contains("plinth admin account make-admin EMAIL"),
        "{printed}"
    );
    installation.admin(&["account", "make-admin", "ada@example.org"]);
    assert_eq!(installation.serve(&["--no-worker"]).end().0, "");
}

#[test]
fn a_damaged_database_is_named_with_its_damage() {
    let installation = Installation::with_sqlite();
    assert!(installation.program().arg("migrate").output().unwrap().status.success());
    let file = installation.folder.path().join("data/plinth.db");
    let intact = std::fs::read(&file).unwrap();
    // Damages the whole file, and then all pages except the first.
    for begin in [0, 4096] {
        let mut damaged = intact.clone();
        damaged[begin..].fill(0xa5);
        std::fs::write(&file, damaged).unwrap();
        let done = installation.program().args(["serve", "--no-worker", "--listen", "127.0.0.1:0"]).output().unwrap();
        let printed = text(&done.stderr);
        let line = printed.lines().find(|line| line.starts_with("plinth: ")).unwrap();
        assert_eq!(done.status.code(), Some(1), "{printed}");
        assert!(line.contains("database") && !line.contains("try again") && !line.contains("internal"), "{printed}");
    }
}

#[tokio::test]
async fn configuration_errors_are_one_line_that_says_what_to_do() {
    let installation = Installation::with_sqlite();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = installation.folder.path();
    std::fs::write(folder.join("file"), "").unwrap();
    std::fs::write(folder.join("wrong.toml"), "listn = \"127.0.0.1:0\"\n").unwrap();
    let file = folder.join("file/data").display().to_string();
    for (args, code, message) in [
        (vec!["--listen", &address], 1, "choose another address with --listen"),
        (vec!["--listen", "nonsense"], 2, "--listen must be an address with a port"),
        (vec!["--listen", "127.0.0.1:0", "--data", &file], 1, "choose another with --data"),
        (vec!["--listen", "127.0.0.1:0", "--public-url", "ftp://x"], 2, "--public-url must be an http or https URL"),
        (
            vec!["--listen", "127.0.0.1:0", "--database-url", "mysql://me:secret@x/y"],
            1,
            "give sqlite://FILE or postgres",
        ),
        (vec!["--listen", "127.0.0.1:0", "--store-url", "ftp://x"], 1, "give file:///FOLDER or s3://BUCKET/PREFIX"),
        (vec!["--config", "wrong.toml"], 1, "did you mean 'listen'?"),
        (vec!["--config", "none.toml"], 1, "none.toml cannot be read"),
        (
            vec!["--takes", "share,8k"],
            2,
            "--takes must be a list of some of share, standard, 4k, pro, dataset, preview",
        ),
        (vec!["--log-level", "inof"], 2, "--log-level must be error, warn, info, debug, trace or off, or a list"),
        (vec!["--log-level", "wran,plinth_api=debug"], 2, "such as info,plinth_api=debug, not 'wran,plinth_api=debug'"),
        (vec!["--drain-seconds", "soon"], 2, "--drain-seconds must be a whole number of seconds"),
        (vec!["--rate-limit-per-minute", "0"], 2, "--rate-limit-per-minute must be a whole number above 0"),
        (vec!["--wrong"], 2, "--wrong"),
    ] {
        let done = installation.program().arg("serve").args(&args).output().unwrap();
        let printed = text(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{args:?}: {printed}");
        assert!(printed.contains(message) && !printed.contains("secret"), "{args:?}: {printed}");
        // Warnings in the log may come first, for example that the server runs as root.
        let complaint = printed.trim().lines().filter(|line| !line.contains(" WARN ")).count();
        assert!(args == ["--wrong"] || complaint == 1, "{args:?}: {printed}");
    }
}

#[tokio::test]
async fn a_second_server_on_the_same_sqlite_file_does_not_start() {
    let served = Served::with_sqlite();
    let folder = served.installation.folder.path();
    std::os::unix::fs::symlink(folder.join("data/plinth.db"), folder.join("link.db")).unwrap();
    let linked = format!("sqlite://{}", folder.join("link.db").display());
    for more in [vec![], vec!["--database-url", &linked]] {
        let mut second = served.installation.program();
        second.args(["serve", "--no-worker", "--listen", "127.0.0.1:0"]).args(&more);
        let done = second.output().unwrap();
        assert_eq!(done.status.code(), Some(1), "{more:?}");
        assert!(text(&done.stderr).contains("another plinth serve uses"), "{more:?}: {}", text(&done.stderr));
    }
    // After a server was killed, the next one can start.
    let Served { server, installation, .. } = served;
    server.kill();
    installation.serve(&["--no-worker"]).end();
}

#[tokio::test]
async fn a_running_request_is_finished_when_the_server_stops() {
    let served = Served::with_sqlite();
    let body = Form::default().file("file", "late.glb", &glb_with_triangle("late")).body();
    let (first, rest) = body.split_at(body.len() / 2);
    let address = served.server.base.trim_start_matches("http://");
    let mut socket = std::net::TcpStream::connect(address).unwrap();
    write!(
        socket,
        "POST /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n",
        served.client.token,
        Form::content_type(),
        body.len()
    )
    .unwrap();
    socket.write_all(first).unwrap();
    // A response to a later request on another connection shows that the server has begun to process the first one.
    assert_eq!(served.client.get("/health").await.status, 200);
    served.server.signal("TERM");
    // Waits until the server accepts no new connections. It still reads the rest of this request.
    while std::net::TcpStream::connect(address).is_ok() {
        std::thread::yield_now();
    }
    socket.write_all(rest).unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut socket, &mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}

#[tokio::test]
async fn a_rejected_upload_gets_its_error_and_not_a_broken_connection() {
    let served = Served::with_sqlite();
    let reader = served.client(&served.installation.key(super::server::EMAIL, &["--scopes", "read"]));
    let big = vec![0; 32 << 20];
    for _ in 0..4 {
        let form = Form::default().file("file", "big.glb", &big);
        let request = reader.request(reqwest::Method::POST, "/models").header("content-type", Form::content_type());
        let answer = Answer::of(request.body(form.body()).send().await.unwrap()).await;
        assert_eq!(answer.rejection(), (403, "insufficient_scope"));
    }
}
