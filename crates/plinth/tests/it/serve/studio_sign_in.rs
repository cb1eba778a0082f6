//! Tests of signing in to the web UI by link and by password, and of sessions.

use reqwest::Method;

use super::browser::{Browser, Page};
use super::on_both;
use super::server::{EMAIL, Installation, LIFETIME, Served};
use super::webdriver::Chromium;

const BOB: &str = "bob@example.org";

async fn a_link_signs_in_once(served: Served) {
    let mut browser = Browser::new(&served.server.base);
    let first = browser.get("/").await;
    assert!(first.status == 200 && first.shows("type=\"password\""), "{}", first.html);
    let link = served.link(EMAIL, &[]);
    for _preview in 0..2 {
        let page = browser.get(&link).await;
        assert!(page.status == 200 && page.shows("<button") && page.header("set-cookie").is_empty());
    }
    let page = browser.post(&link, &[]).await;
    assert_eq!((page.status, page.header("location")), (303, "/"));
    let cookie = page.header("set-cookie").to_owned();
    let (pair, facts) = cookie.split_once("; ").unwrap();
    assert!(pair.starts_with("plinth_session=") && pair.len() == "plinth_session=".len() + 43, "{cookie}");
    assert_eq!(facts, "HttpOnly; SameSite=Lax; Path=/; Max-Age=1209600");
    let page = browser.get("/").await;
    assert!(page.shows(EMAIL) && page.shows("<dd>100</dd>") && page.shows("Nothing here yet"), "{}", page.html);
    let again = Browser::new(&served.server.base).post(&link, &[]).await;
    assert!(again.status == 401 && again.shows("used before or has expired") && again.header("set-cookie").is_empty());
    let expired = served.link(EMAIL, &["--expires-in", "1"]);
    tokio::time::sleep(LIFETIME).await;
    assert_eq!(Browser::new(&served.server.base).post(&expired, &[]).await.status, 401);
    let unknown = format!("/sign-in/{}", "x".repeat(43));
    for wrong in [unknown.as_str(), "/sign-in/x", "/sign-in/%00%FF", "/sign-in/'%20OR%201=1--"] {
        let page = Browser::new(&served.server.base).post(wrong, &[]).await;
        assert!(page.status == 401 || page.status == 400, "{wrong}: {}", page.status);
        assert!(page.header("set-cookie").is_empty());
    }
    // The secrets of the link and of the session are neither in the log nor in the database.
    let (link, session) = (link.trim_start_matches("/sign-in/"), pair.trim_start_matches("plinth_session="));
    assert!(!served.installation.log().contains(link) && !served.installation.log().contains(session));
}

async fn sessions_end_at_once(served: Served) {
    let (mut one, two) = (served.browser(EMAIL).await, served.browser(EMAIL).await);
    let kept = Browser::with(&served.server.base, one.cookie.clone());
    let page = one.send("/sign-out", &[]).await;
    assert_eq!((page.status, page.header("location"), one.cookie.as_deref()), (303, "/", None));
    assert_eq!(
        kept.get("/keys").await.header("location"),
        "/sign-in?to=%2Fkeys",
        "the session of the cookie has ended"
    );
    assert_eq!(two.get("/keys").await.status, 200, "the other browser stays signed in");
    let mut three = served.browser(EMAIL).await;
    let waiting = served.link(EMAIL, &[]);
    three.send("/sign-out-everywhere", &[]).await;
    assert_eq!(two.get("/keys").await.status, 303);
    assert_eq!(one.post(&waiting, &[]).await.status, 401, "signing out everywhere invalidates unused links");
    // The suspension of an account ends its sessions.
    let four = served.browser(EMAIL).await;
    let waiting = served.link(EMAIL, &[]);
    served.installation.admin(&["account", "suspend", EMAIL]);
    assert_eq!(four.get("/keys").await.status, 303);
    assert_eq!(one.post(&waiting, &[]).await.status, 401);
    assert_eq!(served.installation.try_admin(&["account", "sign-in", EMAIL]).status.code(), Some(1));
    served.installation.admin(&["account", "unsuspend", EMAIL]);
    assert_eq!(four.get("/keys").await.status, 303, "an ended session is not restored");
    assert_eq!(served.browser(EMAIL).await.get("/keys").await.status, 200);
}

async fn password_attempts_are_limited(served: Served) {
    let right = "correct horse battery";
    served.installation.admin(&["account", "create", BOB, "--password", right]);
    let mut browser = Browser::new(&served.server.base);
    let mut attempt = async |email: &str, password: &str| {
        browser.cookie = None;
        browser.post("/sign-in", &[("email", email), ("password", password)]).await
    };
    let page = attempt(" Bob@Example.org", right).await;
    assert_eq!((page.status, page.header("set-cookie").is_empty()), (303, false));
    let wrong = attempt(BOB, "wrong").await;
    assert!(wrong.status == 401 && wrong.shows("or the password is wrong") && wrong.shows(BOB), "{}", wrong.html);
    for (email, password) in [(EMAIL, ""), ("nobody@example.org", right), ("nonsense", right), (BOB, &"x".repeat(2000))]
    {
        let page = attempt(email, password).await;
        assert!(page.status == 401 && page.shows("or the password is wrong"), "{email}: {}", page.html);
    }
    // 3 of 10 attempts are used. A successful attempt counts, too.
    for _ in 3..10 {
        assert_eq!(attempt(BOB, "wrong").await.status, 401);
    }
    let over = attempt(BOB, right).await;
    assert!(over.status == 429 && over.shows("Too many attempts"), "{}", over.html);
    let wait: u64 = over.header("retry-after").parse().unwrap();
    assert!((1..=600).contains(&wait), "{wait}");
    assert_eq!(attempt("nobody@example.org", right).await.status, 401, "other addresses are not limited");
    assert_eq!(served.browser(BOB).await.get("/keys").await.status, 200, "a sign-in link still works");
}

/// Addresses to which a sign-in must not redirect. Browsers take some of them for addresses of another host.
const ELSEWHERE: [&str; 6] = [
    "//evil.example",
    "/\\evil.example",
    "https://evil.example",
    "%2f%2fevil.example",
    "/\t/evil.example",
    "javascript:alert(1)",
];

async fn a_sign_in_leads_to_the_requested_page(served: Served) {
    let right = "correct horse battery";
    served.installation.admin(&["account", "create", BOB, "--password", right]);
    let mut browser = Browser::new(&served.server.base);
    let wanted = "/renders/k3Jd92LmQx7a?a=1&b=%2F";
    let page = browser.get(wanted).await;
    let sign_in = page.header("location").to_owned();
    assert_eq!((page.status, &*sign_in), (303, "/sign-in?to=%2Frenders%2Fk3Jd92LmQx7a%3Fa%3D1%26b%3D%252F"));
    let field = "name=\"to\" value=\"/renders/k3Jd92LmQx7a?a=1&#38;b=%2F\"";
    let page = browser.get(&sign_in).await;
    assert!(page.status == 200 && page.shows(field), "{}", page.html);
    let file = browser.get("/renders/k3Jd92LmQx7a/files/video").await;
    assert_eq!(file.header("location"), "/sign-in?to=%2Frenders%2Fk3Jd92LmQx7a", "a file leads to its page");
    // The filters of the library are kept, too.
    let page = browser.get("/?search=oak&status=any").await;
    assert!(page.shows("name=\"to\" value=\"/?search=oak&#38;status=any\""), "{}", page.html);
    let page = browser.post("/sign-in", &[("email", BOB), ("password", "wrong"), ("to", wanted)]).await;
    assert!(page.status == 401 && page.shows(field), "{}", page.html);
    let page = browser.post("/sign-in", &[("email", BOB), ("password", right), ("to", wanted)]).await;
    assert_eq!((page.status, page.header("location")), (303, wanted));
    // Another tab in which the sign-in page is open leads to its page as well.
    assert_eq!(browser.get(&sign_in).await.header("location"), wanted);
    for to in ELSEWHERE {
        let page = browser.post("/sign-in", &[("email", BOB), ("password", right), ("to", to)]).await;
        assert_eq!((page.status, page.header("location")), (303, "/"), "{to}");
        let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("to", to).finish();
        assert_eq!(browser.get(&format!("/sign-in?{query}")).await.header("location"), "/", "{to}");
    }
    assert_eq!(browser.get("/sign-in?to=%2f%2fevil.example").await.header("location"), "/");
    assert_eq!(browser.get("/sign-in").await.header("location"), "/");
    // A form cannot be repeated. A script gets an error.
    let mut stranger = Browser::new(&served.server.base);
    let form = stranger.post("/keys", &[("name", "x")]).await;
    assert_eq!((form.status, form.header("location")), (303, "/"));
    let script = stranger.request(Method::GET, wanted).header("accept", "application/json");
    assert_eq!(Page::of(script).await.status, 401);
}

on_both! {
    a_link_signs_in_once sessions_end_at_once password_attempts_are_limited a_sign_in_leads_to_the_requested_page
}

/// The part of an address after `#` is not sent to the server, but it is kept during the sign-in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sign_in_keeps_the_place_in_the_page() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    let right = "correct horse battery";
    served.installation.admin(&["account", "create", BOB, "--password", right]);
    page.open(&format!("{}/keys?a=1#view-7", served.server.base)).await;
    for password in ["wrong", right] {
        page.until("document.querySelector('form.sign-in')?.action.endsWith('#view-7')").await;
        page.run("document.querySelector('#email').value = '';").await;
        page.type_into("#email", BOB).await;
        page.type_into("#password", password).await;
        page.run("document.querySelector('form.sign-in').id = 'old';").await;
        page.click("form.sign-in button").await;
        page.until("!document.querySelector('#old')").await;
    }
    page.until("location.href.endsWith('/keys?a=1#view-7')").await;
}

/// A double click sends a form once. Otherwise, the second request would find that the sign-in link was used before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_double_click_sends_a_form_once() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    page.open(&format!("{}{}", served.server.base, served.link(EMAIL, &[]))).await;
    // Counts the forms that the browser would send, and keeps it from sending them.
    let count = "let sent = 0; \
                 window.addEventListener('submit', (event) => { sent += Number(!event.defaultPrevented); event.preventDefault(); }); \
                 const button = document.querySelector('main button'); button.click(); button.click(); return sent;";
    assert_eq!(page.run(count).await, 1);
}

/// Behind a trusted reverse proxy, each client is limited by its own address, which is in the header of the proxy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passwords_are_limited_per_client_of_a_trusted_proxy() {
    let right = "correct horse battery";
    for (trusted, others) in [("127.0.0.0/8", 303), ("192.0.2.1", 429)] {
        let served = Served::on(Installation::with_sqlite().set("PLINTH_TRUSTED_PROXIES", trusted));
        served.installation.admin(&["account", "create", BOB, "--password", right]);
        let browser = Browser::new(&served.server.base);
        let attempt = async |client: &str, password: &str| {
            let form = browser.form("/sign-in", &[("email", BOB), ("password", password)]);
            Page::of(form.header("origin", &served.server.base).header("x-forwarded-for", client)).await.status
        };
        for _ in 0..10 {
            assert_eq!(attempt("203.0.113.1", "wrong").await, 401);
        }
        assert_eq!(attempt("203.0.113.1", right).await, 429);
        assert_eq!(attempt("203.0.113.1, 203.0.113.2", right).await, others, "trusted: {trusted}");
    }
    let failed = Installation::with_sqlite()
        .set("PLINTH_TRUSTED_PROXIES", "10.0.0.0/8,x")
        .program()
        .arg("serve")
        .output()
        .unwrap();
    let message = crate::text(&failed.stderr);
    assert!(failed.status.code() == Some(2) && message.contains("such as 127.0.0.1,10.0.0.0/8"), "{message}");
}

#[tokio::test]
async fn behind_https_the_cookie_is_bound_to_the_host_and_links_include_the_path_prefix() {
    let served = Served::on(Installation::with_sqlite().set("PLINTH_PUBLIC_URL", "https://render.example.org/plinth/"));
    let made = served.installation.admin(&["account", "sign-in", EMAIL]);
    let url = made["url"].as_str().unwrap();
    assert!(url.starts_with("https://render.example.org/plinth/sign-in/"), "{url}");
    let elsewhere = served.installation.admin(&["account", "sign-in", EMAIL, "--public-url", "http://other.example"]);
    assert!(elsewhere["url"].as_str().unwrap().starts_with("http://other.example/sign-in/"));
    // The proxy strips the path prefix.
    let path = url.trim_start_matches("https://render.example.org/plinth");
    let browser = Browser::new(&served.server.base);
    let form = browser.form(path, &[]).header("origin", "https://render.example.org");
    let page = Page::of(form).await;
    assert_eq!((page.status, page.header("location")), (303, "/plinth/"));
    let cookie = page.header("set-cookie");
    assert!(cookie.starts_with("__Host-plinth_session="), "{cookie}");
    assert!(cookie.ends_with("; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=1209600"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let unbound = Browser::with(&served.server.base, Some(cookie.replace("__Host-", "")));
    assert_eq!(unbound.get("/keys").await.header("location"), "/plinth/sign-in?to=%2Fkeys");
    let browser = Browser::with(&served.server.base, Some(cookie));
    assert_eq!(browser.get("/sign-in?to=%2Fkeys").await.header("location"), "/plinth/keys");
    let page = browser.get("/keys").await;
    assert!(page.shows("href=\"/plinth/assets/") && page.shows("action=\"/plinth/keys\""), "{}", page.html);
}
