//! Controls Chromium through the HTTP interface of chromedriver (W3C WebDriver). No client crate is used, because the
//! Rust clients depend on a crate whose licence `deny.toml` does not allow.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

/// Maximum time to wait until an expression in the page is true.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum time to wait until the browser has ended.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// Key of the identifier of an element in the WebDriver protocol.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Number of attempts to start chromedriver. It chooses a free port for IPv4 and exits if another program uses this port for
/// IPv6.
const ATTEMPTS: usize = 5;

/// A browser with one window. Dropping it ends the browser.
pub(crate) struct Chromium {
    driver: Child,
    http: reqwest::Client,
    /// URL of the session of the window.
    session: String,
    /// Folder for the temporary files of the browser.
    _folder: TempDir,
}

/// Starts chromedriver, and returns its port. Returns `None` if chromedriver is not installed.
fn start_driver(temporary_files: &Path) -> Option<(Child, String)> {
    let mut output = Vec::new();
    for _attempt in 0..ATTEMPTS {
        let mut command = Command::new("chromedriver");
        command.arg("--port=0").env("TMPDIR", temporary_files).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut driver = command.spawn().ok()?;
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            let line = line.unwrap();
            let port =
                line.split_once("started successfully on port ").map(|(_, port)| port.trim_end_matches('.').to_owned());
            output.push(line);
            port
        });
        if let Some(port) = port {
            // Reads the rest of the output, because chromedriver keeps writing to the pipe.
            std::thread::spawn(move || lines.for_each(drop));
            return Some((driver, port));
        }
        driver.wait().unwrap();
    }
    panic!("chromedriver did not start: {output:#?}");
}

impl Chromium {
    /// Starts a browser. Without `with_scripts`, its pages run no scripts. Returns `None` if chromedriver is not
    /// installed, which `make test` reports.
    pub(crate) async fn start(with_scripts: bool) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let (driver, port) = start_driver(folder.path())?;
        let http = plinth_testkit::Client::new("", "").http;
        let address = format!("http://127.0.0.1:{port}");
        let preferences =
            if with_scripts { json!({}) } else { json!({"profile.managed_default_content_settings.javascript": 2}) };
        let capabilities = json!({
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {
                "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"],
                "prefs": preferences,
            },
        });
        let mut chromium = Self { driver, http, session: address, _folder: folder };
        let made =
            chromium.call(Method::POST, "/session", json!({"capabilities": {"alwaysMatch": capabilities}})).await;
        chromium.session = format!("{}/session/{}", chromium.session, made["sessionId"].as_str().expect("a session"));
        Some(chromium)
    }

    async fn call(&self, method: Method, path: &str, body: Value) -> Value {
        let request = self.http.request(method.clone(), format!("{}{path}", self.session));
        let request = if method == Method::GET { request } else { request.body(body.to_string()) };
        let answer = request.header("content-type", "application/json").send().await.unwrap().text().await.unwrap();
        let mut answer: Value = serde_json::from_str(&answer).unwrap();
        assert!(answer["value"]["error"].is_null(), "{path} {body}: {answer}");
        answer["value"].take()
    }

    pub(crate) async fn open(&self, url: &str) {
        self.call(Method::POST, "/url", json!({"url": url})).await;
    }

    /// Sets the size of the area in which the page is shown.
    pub(crate) async fn resize(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        let command = json!({"cmd": "Emulation.setDeviceMetricsOverride", "params": size});
        self.call(Method::POST, "/goog/cdp/execute", command).await;
    }

    /// Sets the preferred colour scheme of the browser to `light` or `dark`.
    pub(crate) async fn prefer(&self, colors: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": colors}]});
        let command = json!({"cmd": "Emulation.setEmulatedMedia", "params": features});
        self.call(Method::POST, "/goog/cdp/execute", command).await;
    }

    /// Runs a function body in the page, and returns its result.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.call(Method::POST, "/execute/sync", json!({"script": script, "args": []})).await
    }

    /// Waits until an expression in the page is true.
    pub(crate) async fn until(&self, expression: &str) {
        let is_true = async {
            while self.run(&format!("return Boolean({expression});")).await != true {
                sleep(Duration::from_millis(50)).await;
            }
        };
        let became_true = timeout(TIMEOUT, is_true).await.is_ok();
        let page = if became_true { Value::Null } else { self.run("return document.body.innerText;").await };
        assert!(became_true, "never: {expression}; the page: {page}");
    }

    async fn element(&self, selector: &str) -> String {
        let found = self.call(Method::POST, "/element", json!({"using": "css selector", "value": selector})).await;
        found[ELEMENT].as_str().expect("an element").to_owned()
    }

    pub(crate) async fn click(&self, selector: &str) {
        let element = self.element(selector).await;
        self.call(Method::POST, &format!("/element/{element}/click"), json!({})).await;
    }

    /// Clicks a point of an element, which is given by fractions of its width and its height.
    pub(crate) async fn click_at(&self, selector: &str, at: (f64, f64)) {
        let to = self.move_to(selector, at).await;
        self.mouse(&[to, json!({"type": "pointerDown", "button": 0}), json!({"type": "pointerUp", "button": 0})]).await;
    }

    /// Moves the mouse to a point of an element.
    pub(crate) async fn hover_at(&self, selector: &str, at: (f64, f64)) {
        self.mouse(&[self.move_to(selector, at).await]).await;
    }

    /// Presses the mouse button at the current position, and releases it at a point of an element.
    pub(crate) async fn drag_to(&self, selector: &str, at: (f64, f64)) {
        let to = self.move_to(selector, at).await;
        self.mouse(&[json!({"type": "pointerDown", "button": 0}), to, json!({"type": "pointerUp", "button": 0})]).await;
    }

    async fn move_to(&self, selector: &str, (x, y): (f64, f64)) -> Value {
        let script = format!(
            "const box = document.querySelector({}).getBoundingClientRect(); \
             return [box.left + {x} * box.width, box.top + {y} * box.height].map(Math.round);",
            json!(selector)
        );
        let place = self.run(&script).await;
        json!({"type": "pointerMove", "duration": 0, "x": place[0], "y": place[1]})
    }

    async fn mouse(&self, steps: &[Value]) {
        let mouse = json!({"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": steps});
        self.call(Method::POST, "/actions", json!({"actions": [mouse]})).await;
    }

    /// Presses keys, one after another, in the element that has the focus.
    pub(crate) async fn press(&self, keys: &[&str]) {
        let steps: Vec<Value> =
            keys.iter().flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": key}))).collect();
        let keyboard = json!({"type": "key", "id": "keyboard", "actions": steps});
        self.call(Method::POST, "/actions", json!({"actions": [keyboard]})).await;
    }

    /// Presses a key while another one is held.
    pub(crate) async fn hold(&self, held: &str, key: &str) {
        let step = |kind: &str, key: &str| json!({"type": kind, "value": key});
        let steps = [step("keyDown", held), step("keyDown", key), step("keyUp", key), step("keyUp", held)];
        let keyboard = json!({"type": "key", "id": "keyboard", "actions": steps});
        self.call(Method::POST, "/actions", json!({"actions": [keyboard]})).await;
    }

    /// Types a text into an element. For a file input, the text consists of paths of files.
    pub(crate) async fn type_into(&self, selector: &str, text: &str) {
        let element = self.element(selector).await;
        self.call(Method::POST, &format!("/element/{element}/value"), json!({"text": text})).await;
    }

    /// Returns the messages on the console since the last call. They include violations of the content security policy.
    pub(crate) async fn console(&self) -> Vec<String> {
        let log = self.call(Method::POST, "/se/log", json!({"type": "browser"})).await;
        log.as_array().into_iter().flatten().map(|entry| entry["message"].to_string()).collect()
    }
}

impl Chromium {
    /// Ends the session without an async runtime.
    fn end_session(&self) -> std::io::Result<()> {
        let Some((host, path)) = self.session.trim_start_matches("http://").split_once('/') else { return Ok(()) };
        let mut stream = TcpStream::connect(host)?;
        stream.set_read_timeout(Some(END_TIMEOUT))?;
        write!(stream, "DELETE /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
        // The response arrives after the browser has ended.
        stream.read(&mut [0; 64]).map(drop)
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // The session is ended first, because SIGTERM to chromedriver sometimes leaves the browser running.
        let _ended = self.end_session();
        let pid = self.driver.id().to_string();
        let _gone = Command::new("kill").args(["-s", "TERM", &pid]).status();
        let _waited = self.driver.wait();
    }
}
