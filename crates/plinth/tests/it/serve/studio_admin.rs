//! Tests of the pages for administrators of the installation, and of the commands for the same actions.

use plinth_testkit::{Form, png};
use reqwest::Method;
use serde_json::json;

use super::backstage::Backstage;
use super::browser::{Browser, Page};
use super::on_both;
use super::server::{EMAIL, Served};
use super::studio_hostile::routes;

const BOB: &str = "bob@example.org";
const ROOT: &str = "root@example.org";

/// Creates an administrator and signs it in.
async fn administrator(served: &Served) -> Browser {
    served.installation.admin(&["account", "create", ROOT, "--admin"]);
    served.browser(ROOT).await
}

/// Returns the path of the page of an account.
async fn page_of(browser: &Browser, email: &str) -> String {
    let page = browser.get(&format!("/admin/accounts?search={email}")).await;
    format!("/admin/accounts/{}", page.between("href=\"/admin/accounts/", "\""))
}

/// Returns the value of a hidden field.
fn hidden(page: &Page, name: &str) -> String {
    page.between(&format!("name=\"{name}\" value=\""), "\"").to_owned()
}

/// For users who are not administrators, all methods of all `/admin` paths respond with 404, even to valid forms.
async fn only_administrators_see_that_the_pages_exist(served: Served) {
    let root = administrator(&served).await;
    let account = page_of(&root, EMAIL).await;
    let id = account.rsplit('/').next().unwrap();
    served.installation.account(BOB);
    let (bob, nobody) = (served.browser(BOB).await, Browser::new(&served.server.base));
    let token = bob.get("/keys").await.form_token();
    let paths: Vec<String> =
        [routes("get"), routes("post")].concat().into_iter().filter(|p| p.starts_with("/admin")).collect();
    assert!(paths.len() >= 12, "{paths:?}");
    for path in paths.iter().map(|path| path.replace("{account}", id)) {
        for browser in [&bob, &nobody] {
            let unknown = browser.get("/nowhere").await;
            assert_eq!(unknown.status, 404);
            for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE] {
                let fields = [
                    ("form_token", token.as_str()),
                    ("reason", "x"),
                    ("credits", "5"),
                    ("pool", "paid"),
                    ("entry", id),
                ];
                let request = if method == Method::POST {
                    browser.form(&path, &fields)
                } else {
                    browser.request(method.clone(), &path)
                };
                let page = Page::of(request.header("origin", &served.server.base)).await;
                assert_eq!((page.status, page.html.as_str()), (404, unknown.html.as_str()), "{method} {path}");
            }
        }
    }
    assert!(!bob.get("/").await.shows("Administration"));
    assert!(root.get("/").await.shows("href=\"/admin\""));
    // For an administrator, an unsupported method responds with 405.
    assert_eq!(Page::of(root.request(Method::GET, &format!("{account}/grant"))).await.status, 405);
    // A removed administrator gets 404 from the next request on.
    served.installation.admin(&["account", "remove-admin", ROOT]);
    assert_eq!(root.get("/admin").await.status, 404);
    assert_eq!(served.client.get("/account").await.data()["paid"], 100);
}

async fn accounts_are_found_and_a_grant_is_booked_once(served: Served) {
    let mut root = administrator(&served).await;
    let key = served.installation.account(BOB);
    served.installation.admin(&["account", "create", "carol@example.org"]);
    let bob_api = served.client(&key);
    let list = root.get("/admin/accounts").await;
    assert!(list.shows(BOB) && list.shows("carol@example.org") && list.shows("administrator"));
    let list = root.get("/admin/accounts?search=BOB%40").await;
    assert!(list.shows(BOB) && !list.shows("carol@example.org"));
    assert!(root.get("/admin/accounts?search=nobody").await.shows("No account fits"));
    let path = page_of(&root, BOB).await;
    let page = root.get(&path).await;
    assert!(
        page.shows("100 paid, 0 free") && page.shows("Signup bonus") && page.shows("1 that are neither"),
        "{}",
        page.html
    );

    // Submitting the form twice books one grant.
    let entry = hidden(&page, "entry");
    let fields = [("entry", entry.as_str()), ("credits", "25"), ("pool", "paid"), ("reason", "<b>sorry</b>")];
    for _again in 0..2 {
        let sent = root.send(&format!("{path}/grant"), &fields).await;
        assert_eq!(sent.header("location"), format!("{path}?done=granted"));
    }
    assert_eq!(bob_api.get("/account").await.data()["paid"], 125);
    for (name, value, status) in [
        ("credits", "many", 400),
        ("credits", "0", 400),
        ("pool", "x", 400),
        ("reason", " ", 400),
        ("entry", "x", 400),
        ("credits", "-126", 402),
    ] {
        let entry = hidden(&root.get(&path).await, "entry");
        let wrong = fields.map(|(key, old)| match key {
            "entry" if name != "entry" => (key, entry.as_str()),
            key if key == name => (key, value),
            key => (key, old),
        });
        let page = root.send(&format!("{path}/grant"), &wrong).await;
        assert_eq!(page.status, status, "{name} {value}: {}", page.html);
    }
    assert_eq!(bob_api.get("/account").await.data()["paid"], 125);
    let log = root.get("/admin/log").await;
    assert!(
        log.shows("bob@example.org: +25 paid credits") && log.shows("&#60;b&#62;sorry&#60;/b&#62;"),
        "{}",
        log.html
    );
    assert!(!log.shows("<b>sorry"));
    assert_eq!(log.html.matches("Granted credits").count(), 1, "rejected grants are not in the log");
}

async fn a_suspended_account_is_shut_out_until_it_is_reactivated(served: Served) {
    let mut root = administrator(&served).await;
    let key = served.installation.account(BOB);
    let (bob_api, mut bob) = (served.client(&key), served.browser(BOB).await);
    let path = page_of(&root, BOB).await;
    assert_eq!(root.send(&format!("{path}/suspend"), &[("reason", "")]).await.status, 400);
    let sent = root.send(&format!("{path}/suspend"), &[("reason", "stolen card")]).await;
    assert_eq!(sent.header("location"), format!("{path}?done=suspended"));
    assert_eq!(bob_api.get("/account").await.rejection(), (403, "forbidden"));
    assert_eq!(bob_api.get("/account").await.body["error"]["message"], "this account is suspended");
    assert_eq!(bob.get("/renders").await.status, 303, "its browsers are signed out");
    let upload = bob_api.upload("chair", None).await;
    assert_eq!(upload.rejection(), (403, "forbidden"), "nothing new is accepted");
    let page = root.get(&path).await;
    assert!(page.shows("Suspended") && page.shows("stolen card") && page.shows("End the suspension"), "{}", page.html);
    assert!(root.get("/admin/accounts?show=suspended").await.shows(BOB));
    root.send(&format!("{path}/reactivate"), &[("reason", "paid after all")]).await;
    assert_eq!(bob_api.get("/account").await.status, 200);
    assert_eq!(bob.get("/renders").await.status, 303, "people sign in again");
    bob = served.browser(BOB).await;
    assert_eq!(bob.get("/renders").await.status, 200);
    let log = root.get("/admin/log").await;
    assert!(log.shows("stolen card") && log.shows("paid after all") && log.shows(ROOT), "{}", log.html);
}

async fn the_last_administrator_stays_one(served: Served) {
    let mut root = administrator(&served).await;
    served.installation.account(BOB);
    let bob = served.browser(BOB).await;
    let path = page_of(&root, BOB).await;
    let own = page_of(&root, ROOT).await;
    assert!(root.get(&own).await.shows("This is your own account"));
    let page = root.send(&format!("{own}/suspend"), &[("reason", "x")]).await;
    assert!(page.status == 400 && page.shows("You cannot suspend your own account"), "{}", page.html);
    served.installation.admin(&["account", "remove-admin", "admin@plinth.local"]);
    let page = root.send(&format!("{own}/remove-admin"), &[("reason", "x")]).await;
    assert!(page.status == 400 && page.shows("last administrator"), "{}", page.html);
    root.send(&format!("{path}/make-admin"), &[("reason", "night shift")]).await;
    assert_eq!(bob.get("/admin").await.status, 200);
    let page = root.send(&format!("{own}/remove-admin"), &[("reason", "leaves")]).await;
    assert_eq!(page.header("location"), "/");
    assert_eq!(root.get("/admin").await.status, 404);
    let log = bob.get("/admin/log").await;
    assert!(log.shows("night shift") && log.shows("leaves") && log.shows("plinth admin"), "{}", log.html);
}

async fn assets_are_published_and_withdrawn(served: Served) {
    let mut root = administrator(&served).await;
    let bob = served.client(&served.installation.account(BOB));
    let form = Form::default().file("file", "a.png", &png(1)).text("name", "<i>Frame</i>");
    let overlay = served.client.form("/overlays", form).await.text("id");
    let seen = async || bob.get("/overlays").await.body["data"].as_array().unwrap().len();
    assert!(root.get("/admin/assets").await.shows("Nothing is available to all workspaces yet"));
    let fields = [("kind", "overlay"), ("id", overlay.as_str()), ("reason", "a nice one")];
    for (name, value, status) in
        [("id", "k3Jd92LmQx7a", 404), ("kind", "x", 400), ("kind", "environment", 404), ("reason", "", 400)]
    {
        let wrong = fields.map(|(key, old)| (key, if key == name { value } else { old }));
        assert_eq!(root.send("/admin/assets/publish", &wrong).await.status, status, "{name} {value}");
    }
    assert_eq!(seen().await, 0);
    let sent = root.send("/admin/assets/publish", &fields).await;
    assert_eq!(sent.header("location"), "/admin/assets?done=published");
    assert_eq!(seen().await, 1);
    let page = root.get("/admin/assets?done=published").await;
    assert!(page.shows("available to all workspaces now") && page.shows("&#60;i&#62;Frame"), "{}", page.html);
    let ask = format!("/admin/assets/withdraw?kind=overlay&id={overlay}");
    assert!(root.get(&ask).await.shows("Withdraw this overlay?"));
    assert_eq!(root.get("/admin/assets/withdraw?kind=overlay&id=x").await.status, 404);
    root.send("/admin/assets/withdraw", &fields).await;
    assert_eq!((seen().await, root.get(&ask).await.status), (0, 404));
    let list = |verb: &str| served.installation.admin(&["overlay", verb])["assets"].as_array().unwrap().len();
    served.installation.admin(&["overlay", "publish", &overlay, "--reason", "again"]);
    assert_eq!((seen().await, list("list")), (1, 1));
    served.installation.admin(&["overlay", "withdraw", &overlay]);
    assert_eq!((seen().await, list("list")), (0, 0));
    let missing = served.installation.try_admin(&["environment", "publish", &overlay]);
    assert_eq!(crate::text(&missing.stderr), "plinth: there is no such environment\n");
}

async fn the_overview_shows_what_waits_runs_and_failed(served: Served) {
    let root = administrator(&served).await;
    let empty = root.get("/admin").await;
    assert!(empty.shows("No worker has reported") && empty.shows("Nothing is stored yet"), "{}", empty.html);
    assert!(empty.shows("No worker claims jobs"));
    let model = served.client.upload("chair", None).await.text("modelId");
    let backstage = Backstage::of(&served).await;
    let claim = backstage.service.claim_renders("<b>night</b>", 1).await.unwrap().pop().unwrap();
    let page = root.get("/admin").await;
    let running = page.between("Running now</h2>", "Workers</h2>");
    assert!(
        running.contains("&#60;b&#62;night") && running.contains(EMAIL) && running.contains("Drawing"),
        "{running}"
    );
    let code = plinth_spec::FailureCode::DisplayLost;
    backstage.service.fail_render(&claim, code, "gone").await.unwrap().unwrap();
    backstage.order(&model, &json!({"quality": "pro", "length": 1}), None).await;
    let page = root.get("/admin").await;
    assert!(page.shows("display_lost") && page.shows("Jobs that wait while no worker claims any: 1."), "{}", page.html);
    let waiting: Vec<_> =
        page.between("aria-label=\"Queue\"", "</table>").split("<tr>").filter(|row| row.contains("ordered")).collect();
    assert!(waiting.len() == 1 && waiting[0].contains("Videos, pro"), "{waiting:?}");
    assert!(page.between("most storage\"", "</table>").contains(EMAIL), "{}", page.html);
    let failures = served.installation.admin(&["failures"]);
    assert_eq!(failures["failures"], json!([{"code": "display_lost", "hour": 1, "day": 1, "week": 1}]));
    assert_eq!(served.installation.admin(&["workers"])["workers"], json!([]));
    let account = root.get(&page_of(&root, EMAIL).await).await;
    assert!(account.shows("display_lost") && account.shows("gone"), "{}", account.html);
}

async fn commands_list_accounts_and_what_was_done(served: Served) {
    let installation = &served.installation;
    installation.account(BOB);
    installation.admin(&["account", "make-admin", BOB, "--reason", "new here"]);
    installation.admin(&["account", "suspend", EMAIL, "--reason", "asked for it"]);
    let emails = |args: &[&str]| -> Vec<String> {
        let listed = installation.admin(&[&["account", "list"], args].concat());
        listed["accounts"].as_array().unwrap().iter().map(|row| row["email"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(emails(&["--search", "example"]), [BOB, EMAIL]);
    assert_eq!(emails(&["--admins"]), [BOB, "admin@plinth.local"]);
    assert_eq!(emails(&["--suspended"]), [EMAIL]);
    assert_eq!(emails(&["--limit", "1"]), [BOB]);
    let list = |limit| installation.try_admin(&["account", "list", "--limit", limit]);
    let more = list("2");
    assert!(crate::text(&more.stderr).contains("there are more accounts than these 2"), "{more:?}");
    assert!(crate::text(&more.stdout).contains("\"hasMore\":true"), "{more:?}");
    let all = list("3");
    assert!(!crate::text(&all.stderr).contains("more accounts"), "{all:?}");
    assert!(crate::text(&all.stdout).contains("\"hasMore\":false"), "{all:?}");
    installation.admin(&["account", "remove-admin", BOB]);
    let last = installation.try_admin(&["account", "remove-admin", "admin@plinth.local"]);
    assert_eq!(last.status.code(), Some(1));
    assert!(crate::text(&last.stderr).contains("last administrator"), "{}", crate::text(&last.stderr));
    let log = installation.admin(&["log", "--limit", "2"]);
    assert_eq!((log["total"].as_u64(), log["entries"].as_array().unwrap().len()), (Some(3), 2));
    let suspended = &log["entries"][1];
    assert_eq!((&suspended["action"], &suspended["reason"]), (&json!("suspend"), &json!("asked for it")));
    assert_eq!((&suspended["account"], &suspended["admin"]), (&json!(EMAIL), &json!(null)));
}

on_both! {
    only_administrators_see_that_the_pages_exist accounts_are_found_and_a_grant_is_booked_once
    a_suspended_account_is_shut_out_until_it_is_reactivated the_last_administrator_stays_one
    assets_are_published_and_withdrawn the_overview_shows_what_waits_runs_and_failed
    commands_list_accounts_and_what_was_done
}
