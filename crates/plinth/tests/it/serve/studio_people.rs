//! Tests of passwords and sessions: recovery by a mailed link, changes, and ending sessions.

use super::browser::Browser;
use super::mailbox::{Mailbox, link_in};
use super::on_both;
use super::server::{EMAIL, Served};

const BOB: &str = "bob@example.org";
const OLD: &str = "an old password";
const NEW: &str = "a new password";

/// Restarts the server with a configured mail server.
pub(super) fn with_mail(served: Served) -> (Served, Mailbox) {
    let mailbox = Mailbox::start();
    let served = served.again(|installation| {
        installation.set("PLINTH_SMTP_URL", &mailbox.url()).set("PLINTH_MAIL_FROM", "Plinth <plinth@example.org>")
    });
    (served, mailbox)
}

async fn sign_in(served: &Served, email: &str, password: &str) -> (u16, Browser) {
    let mut browser = Browser::new(&served.server.base);
    let page = browser.post("/sign-in", &[("email", email), ("password", password)]).await;
    (page.status, browser)
}

async fn a_password_is_recovered_by_a_mailed_link(served: Served) {
    let (served, mailbox) = with_mail(served);
    served.installation.admin(&["account", "create", BOB, "--password", OLD]);
    let (status, signed_in) = sign_in(&served, BOB, OLD).await;
    assert_eq!(status, 303);
    let mut browser = Browser::new(&served.server.base);
    let known = browser.post("/password/forgot", &[("email", " BOB@example.org ")]).await;
    let unknown = browser.post("/password/forgot", &[("email", "nobody@example.org")]).await;
    assert_eq!((known.status, &known.html), (200, &unknown.html), "the response does not reveal who has an account");
    let mail = mailbox.wait_for("/password/new/").await;
    assert!(mail.contains("To: bob@example.org") && mail.contains("From: Plinth <plinth@example.org>"), "{mail}");
    let link = link_in(&mail, "/password/new/");
    for _preview in 0..2 {
        assert_eq!(browser.get(&link).await.status, 200, "opening the link does not use it up");
    }
    assert_eq!(browser.post(&link, &[("password", "short")]).await.status, 400);
    // The secret of the recovery link does not work in a sign-in link.
    let secret = link.rsplit('/').next().unwrap();
    assert_eq!(browser.post(&format!("/sign-in/{secret}"), &[]).await.status, 401);
    let page = browser.post(&link, &[("password", NEW)]).await;
    assert_eq!((page.status, page.header("location")), (303, "/account?changed=1"));
    let page = browser.get("/account?changed=1").await;
    assert!(page.shows(BOB), "the browser is signed in");
    assert!(page.shows("API keys stay valid until you <a href=\"/keys\">revoke them</a>."), "{}", page.html);
    assert_eq!(signed_in.get("/account").await.status, 303, "other sessions have ended");
    assert_eq!(Browser::new(&served.server.base).post(&link, &[("password", OLD)]).await.status, 401, "once");
    assert_eq!((sign_in(&served, BOB, OLD).await.0, sign_in(&served, BOB, NEW).await.0), (401, 303));
    let mail = mailbox.wait_for("was changed").await;
    assert!(mail.contains("API keys stay valid until you revoke them"), "{mail}");
    assert_eq!(mailbox.count(), 0, "nobody else got a mail");
    // Suspended accounts get no mail. An address gets at most three mails per hour.
    served.installation.account("carol@example.org");
    served.installation.admin(&["account", "suspend", "carol@example.org"]);
    browser.post("/password/forgot", &[("email", "carol@example.org")]).await;
    for _again in 0..4 {
        assert_eq!(browser.post("/password/forgot", &[("email", BOB)]).await.html, unknown.html);
    }
    for _allowed in 0..2 {
        mailbox.wait_for("To: bob@example.org").await;
    }
    assert_eq!(browser.post("/password/forgot", &[("email", EMAIL)]).await.status, 200);
    mailbox.wait_for("To: ada@example.org").await;
    assert_eq!(mailbox.count(), 0);
    assert_eq!(browser.post("/password/forgot", &[("email", "nonsense")]).await.status, 400);
    for wrong in ["x", "%00", &"x".repeat(43)] {
        assert_eq!(browser.get(&format!("/password/new/{wrong}")).await.status, 401, "{wrong}");
    }
}

/// A mail waits for a mail server that is down, survives a restart of the server, and is sent once.
async fn a_mail_waits_for_the_mail_server_and_survives_a_restart(served: Served) {
    let nowhere = "smtp://127.0.0.1:9";
    let served = served.again(|installation| {
        installation.set("PLINTH_SMTP_URL", nowhere).set("PLINTH_MAIL_FROM", "Plinth <plinth@example.org>")
    });
    let mut browser = Browser::new(&served.server.base);
    assert_eq!(browser.post("/password/forgot", &[("email", EMAIL)]).await.status, 200);
    tokio::time::timeout(std::time::Duration::from_mins(1), async {
        while !served.installation.log().contains("a mail could not be sent; the server will try again") {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    })
    .await
    .expect("a failed attempt");
    let (served, mailbox) = with_mail(served);
    let link = link_in(&mailbox.wait_for("/password/new/").await, "/password/new/");
    let browser = Browser::new(&served.server.base);
    assert_eq!(browser.get(&link).await.status, 200);
    tokio::time::sleep(std::time::Duration::from_secs(6)).await;
    assert_eq!(mailbox.count(), 0, "it is not sent again");
}

async fn without_a_mail_server_mails_are_in_the_log(served: Served) {
    let mut browser = Browser::new(&served.server.base);
    browser.post("/password/forgot", &[("email", EMAIL)]).await;
    let link = tokio::time::timeout(std::time::Duration::from_mins(1), async {
        loop {
            let log = served.installation.log();
            if let Some((_, rest)) = log.split_once("/password/new/") {
                return format!("/password/new/{}", &rest[..43]);
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    });
    let link = link.await.unwrap();
    assert_eq!(browser.post(&link, &[("password", NEW)]).await.status, 303);
    assert_eq!(sign_in(&served, EMAIL, NEW).await.0, 303);
}

async fn a_password_change_ends_other_sessions(served: Served) {
    let (mut one, two) = (served.browser(EMAIL).await, served.browser(EMAIL).await);
    let waiting = served.link(EMAIL, &[]);
    assert!(one.get("/account").await.shows("Set a password"));
    assert_eq!(one.send("/account/password", &[("new", "short")]).await.status, 400);
    let page = one.send("/account/password", &[("new", OLD)]).await;
    assert_eq!(page.header("location"), "/account?changed=1");
    assert!(one.get("/account?changed=1").await.shows("The password was changed"));
    assert_eq!(two.get("/account").await.status, 303);
    assert_eq!(Browser::new(&served.server.base).post(&waiting, &[]).await.status, 401, "links are invalid");
    let wrong = one.send("/account/password", &[("old", "wrong"), ("new", NEW)]).await;
    assert!(wrong.status == 400 && wrong.shows("The present password is wrong"), "{}", wrong.html);
    assert_eq!(one.send("/account/password", &[("new", NEW)]).await.status, 400, "the present password is needed");
    assert_eq!(one.send("/account/password", &[("old", OLD), ("new", NEW)]).await.status, 303);
    assert_eq!((sign_in(&served, EMAIL, OLD).await.0, sign_in(&served, EMAIL, NEW).await.0), (401, 303));
    for _attempt in 0..10 {
        one.send("/account/password", &[("old", "wrong"), ("new", NEW)]).await;
    }
    let page = one.send("/account/password", &[("old", NEW), ("new", OLD)]).await;
    assert_eq!(page.status, 429, "passwords cannot be tried out");
}

async fn sessions_are_listed_and_ended_one_by_one(served: Served) {
    let mut one = served.browser(EMAIL).await;
    let mut other = Browser::new(&served.server.base);
    let hostile = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0 <script>alert(1)</script>";
    let link = served.link(EMAIL, &[]);
    let request = other.form(&link, &[]).header("origin", &served.server.base).header("user-agent", hostile);
    let response = request.send().await.unwrap();
    let cookie = response.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    other.cookie = Some(cookie);
    let page = one.get("/account").await;
    assert!(
        page.shows("Firefox on Linux") && page.shows("An unknown browser") && !page.shows("<script>alert"),
        "{}",
        page.html
    );
    assert_eq!(page.html.matches("this one").count(), 1);
    assert!(!page.shows(other.cookie.as_deref().unwrap().split_once('=').unwrap().1), "no secret is shown");
    // Another account cannot end the session.
    let row = page.html.split("<tr>").find(|row| row.contains("Firefox on Linux")).unwrap().to_owned();
    let end = row.split("action=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    served.installation.account(BOB);
    let mut bob = served.browser(BOB).await;
    assert_eq!(bob.send(&end, &[]).await.status, 404);
    assert_eq!(other.get("/account").await.status, 200);
    assert_eq!(one.send(&end, &[]).await.header("location"), "/account");
    assert_eq!((other.get("/account").await.status, one.get("/account").await.status), (303, 200));
    assert_eq!(one.send(&end, &[]).await.status, 404);
}

on_both! {
    a_password_is_recovered_by_a_mailed_link a_mail_waits_for_the_mail_server_and_survives_a_restart without_a_mail_server_mails_are_in_the_log
    a_password_change_ends_other_sessions sessions_are_listed_and_ended_one_by_one
}
