//! Tests of every page of the web UI in a real browser, in a narrow and a wide window: axe-core finds nothing, the page
//! needs no horizontal scrolling, loads little, and writes nothing to the console.

use serde_json::Value;

use super::browser::Browser;
use super::server::{EMAIL, Served};
use super::studio_hostile::{filled, hostile_objects, routes};
use super::webdriver::Chromium;

/// Checks of accessibility (WCAG 2.2 AA) that run inside of the page.
const AXE: &str = include_str!("../../vendor/axe.min.js");
/// Maximum size of everything that a page loads before it is usable, gzipped and without pictures and videos, in bytes.
const MAX_FIRST_LOAD: u64 = 150_000;
/// Pages for visitors who are not signed in. On all other pages, these visitors see the sign-in form.
const OPEN: [&str; 3] = ["/sign-in/{link}", "/password/forgot", "/join/{link}"];

/// Asserts that axe-core has no findings on the current page.
async fn is_accessible(page: &Chromium) {
    let script = format!(
        "if (!window.axe) {{ {AXE} }} \
         return axe.run(document, {{runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']}}).then(({{violations}}) => \
         violations.flatMap(({{id, nodes}}) => nodes.map((node) => `${{id}}: ${{node.html}} (${{node.failureSummary}})`)));"
    );
    let findings = page.run(&script).await;
    let place = page.run("return `${location.pathname} at ${window.innerWidth}`;").await;
    assert_eq!(findings, Value::Array(Vec::new()), "{place}");
}

/// Asserts that the current page needs no horizontal scrolling in a narrow, a wide and a very wide window, and that it is
/// accessible, also in dark colours.
pub(super) async fn fits(page: &Chromium) {
    for (width, colors) in [(360, "light"), (2560, "dark"), (1280, "light")] {
        page.prefer(colors).await;
        page.resize(width, 800).await;
        page.until(&format!("window.innerWidth === {width}")).await;
        let wide = page.run("return document.documentElement.scrollWidth;").await;
        assert_eq!(wide, width, "{}", page.run("return location.pathname;").await);
        is_accessible(page).await;
    }
}

/// Returns how much the page has loaded, gzipped and without pictures and videos, in bytes.
async fn first_load(page: &Chromium) -> u64 {
    let script = "const files = performance.getEntriesByType('resource').filter(({name}) => /\\/assets\\/.*\\.(js|css|json)$/.test(name)); \
                  const text = await (await fetch(location.href)).text(); \
                  const zipped = new Blob([text]).stream().pipeThrough(new CompressionStream('gzip')); \
                  const document = (await new Response(zipped).arrayBuffer()).byteLength; \
                  return files.reduce((sum, {encodedBodySize}) => sum + encodedBodySize, document);";
    page.run(&format!("return (async () => {{ {script} }})();")).await.as_u64().expect("a number of bytes")
}

/// Checks one page. Returns false without a check if the response is not a page, but for example a file or a redirect.
async fn check(page: &Chromium, served: &Served, browser: &Browser, path: &str) -> bool {
    let answer = browser.get(path).await;
    if !answer.header("content-type").starts_with("text/html") || answer.status >= 300 && answer.status < 400 {
        return false;
    }
    page.open(&format!("{}{path}", served.server.base)).await;
    page.until("document.readyState === 'complete'").await;
    let bytes = first_load(page).await;
    assert!(bytes > 2000 && bytes < MAX_FIRST_LOAD, "{path} loads {bytes} bytes");
    fits(page).await;
    let messages = page.console().await;
    // Browsers write the status of an error page to the console by themselves.
    assert!(answer.status != 200 || messages.is_empty(), "{path}: {messages:?}");
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_is_accessible_narrow_enough_and_light() {
    let served = Served::with_sqlite();
    let (browser, ids) = hostile_objects(&served).await;
    let Some(page) = Chromium::start(true).await else { return };
    let stranger = Browser::new(&served.server.base);
    for route in ["/"].into_iter().chain(OPEN) {
        assert!(check(&page, &served, &stranger, &filled(route, &ids)).await, "{route}");
    }
    page.open(&format!("{}{}", served.server.base, served.link(EMAIL, &[]))).await;
    page.click("main button").await;
    page.until("document.querySelector('h1').textContent === 'Models'").await;
    let choose = format!(
        "const form_token = document.querySelector('[name=form_token]').value; \
         return fetch('/workspace', {{method: 'POST', body: new URLSearchParams({{form_token, workspace: '{}'}})}})\
         .then(({{ok}}) => ok);",
        ids["teams"]
    );
    assert_eq!(page.run(&choose).await, true);
    let mut pages = 0;
    for route in routes("get").iter().filter(|route| !OPEN.contains(&route.as_str()) && !route.ends_with("/events")) {
        pages += u32::from(check(&page, &served, &browser, &filled(route, &ids)).await);
    }
    assert!(pages >= 20, "{pages}");
}
