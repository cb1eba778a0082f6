//! Tests of teams: invitations, roles, leaving, handing over and deleting.

use serde_json::json;

use super::browser::{Browser, Page};
use super::mailbox::link_in;
use super::on_both;
use super::server::{EMAIL, Served};
use super::studio_people::with_mail;

const BOB: &str = "bob@example.org";
const CAROL: &str = "carol@example.org";
const PASSWORD: &str = "a long password";

/// Creates a team and returns the path of its page.
async fn create(browser: &mut Browser) -> String {
    let page = browser.send("/teams", &[("name", "Design & <b>Co</b>")]).await;
    assert_eq!(page.status, 303, "{}", page.html);
    page.header("location").to_owned()
}

/// Creates an invitation and returns the path of its link.
async fn invite(browser: &mut Browser, team: &str, role: &str) -> String {
    let page = browser.send(&format!("{team}/invite"), &[("email", ""), ("role", role)]).await;
    link_of(&page)
}

fn link_of(page: &Page) -> String {
    assert_eq!(page.status, 200, "{}", page.html);
    format!("/join/{}", page.between("/join/", "</code>"))
}

/// Returns the path of a member on the page of a team.
async fn member(browser: &Browser, team: &str, email: &str) -> String {
    let page = browser.get(team).await;
    let row = page.html.split("<tr>").find(|row| row.contains(&format!("\"row\">{email}"))).unwrap().to_owned();
    let id = row.split(&format!("{team}/members/")).nth(1).unwrap()[..12].to_owned();
    format!("{team}/members/{id}")
}

async fn an_invited_colleague_orders_from_the_pool_of_the_team(served: Served) {
    let (served, mailbox) = with_mail(served);
    let mut ada = served.browser(EMAIL).await;
    let team = create(&mut ada).await;
    let page = ada.get(&team).await;
    assert!(page.shows("<h1>Design &#38; &#60;b&#62;Co&#60;/b&#62;</h1>") && page.shows("Owner"), "{}", page.html);
    let page = ada.send(&format!("{team}/invite"), &[("email", BOB), ("role", "editor")]).await;
    assert!(page.shows("It was mailed to bob@example.org"), "{}", page.html);
    let link = link_of(&page);
    assert_eq!(link_in(&mailbox.wait_for("To: bob@example.org").await, "/join/"), link);
    let mut bob = Browser::new(&served.server.base);
    let page = bob.get(&link).await;
    assert!(page.shows("Join Design &#38; ") && page.shows("as an editor") && page.shows(EMAIL), "{}", page.html);
    let sign_up = format!("{link}/sign-up");
    let fields = [("email", BOB), ("password", "short")];
    assert_eq!(bob.post(&sign_up, &fields).await.status, 400);
    let taken = bob.post(&sign_up, &[("email", EMAIL), ("password", PASSWORD)]).await;
    assert!(taken.status == 400 && taken.shows("exists already"), "{}", taken.html);
    assert_eq!(bob.post(&sign_up, &[("email", BOB), ("password", PASSWORD)]).await.header("location"), "/");
    assert!(bob.get("/").await.shows("<dd>100</dd>"), "the credits of the owner");
    assert_eq!(bob.get(&link).await.status, 404, "the link works once");
    // Somebody who repeats the form is told to sign in, and then gets to the team.
    let mut again = Browser::new(&served.server.base);
    let page = again.post(&sign_up, &[("email", BOB), ("password", PASSWORD)]).await;
    assert!(page.status == 400 && page.shows("sign in with it"), "{} {}", page.status, page.html);
    let page = again.post(&format!("{link}/sign-in"), &[("email", BOB), ("password", PASSWORD)]).await;
    assert_eq!((page.status, page.header("location")), (303, "/"));
    assert_eq!(
        Browser::new(&served.server.base).post(&sign_up, &[("email", CAROL), ("password", PASSWORD)]).await.status,
        404
    );
    // An account that an invitation creates has no credits. Otherwise, users could invite new accounts to get credits.
    let key = served.client(&served.installation.key(BOB, &["--workspace", team.rsplit('/').next().unwrap()]));
    let made = key.upload("chair", Some(json!({"quality": "share", "length": 2}))).await;
    assert_eq!(made.status, 201);
    assert_eq!(served.client.get("/account").await.data()["paid"], 98);
    let own = served.client(&served.installation.key(BOB, &[]));
    assert_eq!(own.get("/account").await.data()["paid"], 0);
    // The team cannot be deleted while its render is queued.
    let page = ada.send(&format!("{team}/delete"), &[]).await;
    assert!(
        page.status == 409 && page.shows("1 renders of this team are queued or running"),
        "{} {}",
        page.status,
        page.html
    );
    assert_eq!(bob.send(&format!("{team}/delete"), &[]).await.status, 403);
    key.post(&format!("/renders/{}/cancel", made.text("renderId")), json!({})).await;
    assert!(ada.get(&format!("{team}/delete")).await.shows("cannot be undone"));
    assert_eq!(ada.send(&format!("{team}/delete"), &[]).await.header("location"), "/teams");
    assert_eq!(key.get("/account").await.rejection(), (403, "forbidden"));
    assert_eq!((bob.get(&team).await.status, ada.get(&team).await.status), (404, 404));
}

async fn roles_limit_what_members_may_do(served: Served) {
    for email in [BOB, CAROL] {
        served.installation.admin(&["account", "create", email, "--password", PASSWORD]);
    }
    let (mut ada, mut bob, mut carol) =
        (served.browser(EMAIL).await, served.browser(BOB).await, served.browser(CAROL).await);
    let team = create(&mut ada).await;
    for (browser, role) in [(&mut bob, "admin"), (&mut carol, "viewer")] {
        let link = invite(&mut ada, &team, role).await;
        for _repeated in 0..2 {
            assert_eq!(browser.send(&link, &[]).await.header("location"), "/");
        }
    }
    // Viewers see the members, and no forms for changes.
    let page = carol.get(&team).await;
    assert!(
        page.shows(BOB) && page.shows("Leave the team") && !page.shows("/invite") && !page.shows("/remove"),
        "{}",
        page.html
    );
    let (of_bob, of_carol) = (member(&ada, &team, BOB).await, member(&ada, &team, CAROL).await);
    for (path, fields) in [
        (format!("{team}/invite"), &[("email", ""), ("role", "viewer")][..]),
        (team.clone(), &[("name", "x")]),
        (format!("{of_bob}/role"), &[("role", "viewer")]),
        (format!("{of_bob}/remove"), &[]),
        (format!("{team}/hand-over"), &[("member", of_carol.rsplit('/').next().unwrap())]),
        (format!("{team}/delete"), &[]),
    ] {
        assert_eq!(carol.send(&path, fields).await.status, 403, "{path}");
    }
    // Administrators manage editors and viewers, but not administrators.
    assert_eq!(bob.send(&format!("{of_carol}/role"), &[("role", "editor")]).await.header("location"), team);
    for (path, role) in [(&of_carol, "admin"), (&of_carol, "owner"), (&of_bob, "viewer")] {
        assert_eq!(bob.send(&format!("{path}/role"), &[("role", role)]).await.status, 403, "{role}");
    }
    for role in ["admin", "owner"] {
        assert_eq!(bob.send(&format!("{team}/invite"), &[("email", ""), ("role", role)]).await.status, 403, "{role}");
    }
    assert_eq!(ada.send(&format!("{team}/invite"), &[("email", ""), ("role", "king")]).await.status, 400);
    assert_eq!(bob.send(&team, &[("name", "Studio")]).await.header("location"), team);
    assert!(ada.get(&team).await.shows("<h1>Studio</h1>"));
    for name in ["", " ", "a\nb", &"x".repeat(101)] {
        assert_eq!(ada.send(&team, &[("name", name)]).await.status, 400, "{name:?}");
    }
    // An invitation becomes invalid when it is revoked, or when its sender loses the permission to invite.
    let (revoked, void) = (invite(&mut bob, &team, "viewer").await, invite(&mut bob, &team, "editor").await);
    let page = ada.get(&team).await;
    let ids: Vec<&str> = page.html.split("/invitations/").skip(1).map(|rest| &rest[..12]).collect();
    assert_eq!(ids.len(), 2, "{}", page.html);
    let path = format!("{team}/invitations/{}/revoke", ids[1]);
    assert_eq!((carol.send(&path, &[]).await.status, ada.send(&path, &[]).await.status), (403, 303));
    let mut dave = Browser::new(&served.server.base);
    assert_eq!((dave.get(&revoked).await.status, dave.get(&void).await.status), (404, 200));
    assert_eq!(ada.send(&format!("{of_bob}/role"), &[("role", "editor")]).await.status, 303);
    let (sign_in, fields) = (format!("{void}/sign-in"), [("email", BOB), ("password", PASSWORD)]);
    assert_eq!((dave.get(&void).await.status, dave.post(&sign_in, &fields).await.status), (404, 404));
    // Members who leave or are removed lose access immediately.
    assert_eq!(carol.send(&format!("{team}/leave"), &[]).await.header("location"), "/teams");
    assert_eq!(carol.get(&team).await.status, 404);
    assert_eq!(ada.send(&format!("{of_bob}/remove"), &[]).await.status, 303);
    assert_eq!(bob.get(&team).await.status, 404);
    assert_eq!(ada.send(&format!("{team}/leave"), &[]).await.status, 400, "the owner");
}

async fn members_are_asked_before_they_leave(served: Served) {
    served.installation.account(BOB);
    let (mut ada, mut bob) = (served.browser(EMAIL).await, served.browser(BOB).await);
    let team = create(&mut ada).await;
    let invitation = invite(&mut ada, &team, "viewer").await;
    assert_eq!(bob.send(&invitation, &[]).await.status, 303);
    let (path, link) = (format!("{team}/leave"), format!("href=\"{team}/leave\""));
    assert!(bob.get(&team).await.shows(&link) && !ada.get(&team).await.shows(&link));
    let page = bob.get(&path).await;
    assert!(page.status == 200 && page.shows("Leave this team?") && page.shows("Design &#38; "), "{}", page.html);
    assert_eq!(bob.get(&team).await.status, 200, "nothing has changed yet");
    assert_eq!(bob.send(&path, &[]).await.header("location"), "/teams");
    assert_eq!((bob.get(&team).await.status, bob.get(&path).await.status), (404, 404));
    assert_eq!(ada.get(&path).await.status, 400, "the owner");
}

async fn a_team_is_handed_over_to_a_member_who_accepts(served: Served) {
    for email in [BOB, CAROL] {
        served.installation.admin(&["account", "create", email, "--password", PASSWORD]);
    }
    let (mut ada, mut bob, mut carol) =
        (served.browser(EMAIL).await, served.browser(BOB).await, served.browser(CAROL).await);
    let team = create(&mut ada).await;
    for browser in [&mut bob, &mut carol] {
        let link = invite(&mut ada, &team, "editor").await;
        browser.send(&link, &[]).await;
    }
    let key = served.client(&served.installation.key(CAROL, &["--workspace", team.rsplit('/').next().unwrap()]));
    let before = key.upload("chair", Some(json!({"quality": "share", "length": 2}))).await;
    let id = member(&ada, &team, BOB).await.rsplit('/').next().unwrap().to_owned();
    let offer = link_of(&ada.send(&format!("{team}/hand-over"), &[("member", &id)]).await);
    let newer = link_of(&ada.send(&format!("{team}/hand-over"), &[("member", &id)]).await);
    assert_eq!(bob.get(&offer).await.status, 404, "a newer offer replaces it");
    assert!(bob.get(&newer).await.shows("you pay for its renders from now on"));
    assert_eq!(carol.send(&newer, &[]).await.status, 403, "it is Bob's");
    let mut eve = Browser::new(&served.server.base);
    let fields = [("email", "eve@example.org"), ("password", PASSWORD)];
    assert_eq!(eve.post(&format!("{newer}/sign-up"), &fields).await.status, 403);
    assert_eq!(bob.send(&newer, &[]).await.header("location"), "/");
    // After the transfer, Bob pays for new renders. A render that Ada has paid for is refunded to Ada.
    assert_eq!(key.upload("lamp", Some(json!({"quality": "share", "length": 3}))).await.status, 201);
    key.post(&format!("/renders/{}/cancel", before.text("renderId")), json!({})).await;
    let paid = |email: &str| served.client(&served.installation.key(email, &[]));
    assert_eq!(paid(EMAIL).get("/account").await.data()["paid"], 100);
    assert_eq!(paid(BOB).get("/account").await.data()["paid"], 97);
    let page = ada.get(&team).await;
    assert!(page.shows("Your role: Administrator") && !page.shows("/hand-over"), "{}", page.html);
    assert!(bob.get(&team).await.shows("Your role: Owner"));
}

/// An invitation that names no address keeps the entered one after a mistake.
async fn a_rejected_form_of_an_invitation_keeps_the_address(served: Served) {
    served.installation.admin(&["account", "create", BOB, "--password", PASSWORD]);
    let mut ada = served.browser(EMAIL).await;
    let team = create(&mut ada).await;
    let link = invite(&mut ada, &team, "viewer").await;
    let mut bob = Browser::new(&served.server.base);
    assert!(!bob.get(&link).await.shows(BOB));
    for (form, password, status) in [("sign-in", "wrong", 401), ("sign-up", "short", 400)] {
        let page = bob.post(&format!("{link}/{form}"), &[("email", BOB), ("password", password)]).await;
        assert_eq!((page.status, page.html.matches(&format!("value=\"{BOB}\"")).count()), (status, 2), "{}", page.html);
    }
}

async fn an_invitation_expires_and_is_accepted_by_one_of_two(served: Served) {
    for email in [BOB, CAROL] {
        served.installation.admin(&["account", "create", email, "--password", PASSWORD]);
    }
    let mut ada = served.browser(EMAIL).await;
    let team = create(&mut ada).await;
    let link = invite(&mut ada, &team, "viewer").await;
    let joining = [BOB, CAROL].map(|email| {
        let (base, path) = (served.server.base.clone(), format!("{link}/sign-in"));
        tokio::spawn(async move {
            Browser::new(&base).post(&path, &[("email", email), ("password", PASSWORD)]).await.status
        })
    });
    let mut joined = 0;
    for one in joining {
        joined += usize::from(one.await.unwrap() == 303);
    }
    assert_eq!(joined, 1);
    let link = invite(&mut ada, &team, "viewer").await;
    let again = ada.send(&link, &[]).await;
    assert!(again.status == 400 && again.shows("member of this team already"), "{}", again.html);
    let link = invite(&mut ada, &team, "viewer").await;
    let later = super::backstage::Backstage::later(&served, std::time::Duration::from_hours(8 * 24)).await;
    assert!(later.service.invitation(link.rsplit('/').next().unwrap()).await.is_err(), "it has expired");
    for wrong in ["x", "%00", &"x".repeat(43)] {
        assert_eq!(ada.get(&format!("/join/{wrong}")).await.status, 404);
    }
}

on_both! {
    an_invited_colleague_orders_from_the_pool_of_the_team roles_limit_what_members_may_do
    a_team_is_handed_over_to_a_member_who_accepts an_invitation_expires_and_is_accepted_by_one_of_two
    a_rejected_form_of_an_invitation_keeps_the_address members_are_asked_before_they_leave
}
