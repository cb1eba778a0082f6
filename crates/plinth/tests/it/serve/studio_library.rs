//! Tests of the pages of models: the library, uploads, edits, changes of several models at once, and missing
//! permissions.

use plinth_spec::limits;
use plinth_testkit::{Form, glb_with_triangle};
use reqwest::Method;
use serde_json::{Value, json};

use super::browser::{Browser, Page};
use super::on_both;
use super::server::{EMAIL, Served};

const BOB: &str = "bob@example.org";
/// A text that runs as code on a page that does not escape it.
const HOSTILE: &str = "\"><script>alert(1)</script>'&";

impl Browser {
    /// Uploads files as the form of the page does, or as its script does.
    async fn upload(&self, form: Form, is_script: bool) -> Page {
        let token = self.get("/keys").await.form_token();
        self.upload_with(Form::default().text("form_token", &token), form, is_script).await
    }

    async fn upload_with(&self, head: Form, files: Form, is_script: bool) -> Page {
        let end = head.clone().body().len() - Form::default().body().len();
        let body = [&head.body()[..end], &files.body()].concat();
        let accept = if is_script { "application/json" } else { "text/html" };
        let request = self.request(Method::POST, "/models").header("content-type", Form::content_type());
        Page::of(request.header("sec-fetch-site", "same-origin").header("accept", accept).body(body)).await
    }

    /// Uploads a model and returns the path of its page.
    async fn uploaded(&self, name: &str) -> String {
        let page =
            self.upload(Form::default().file("file", &format!("{name}.glb"), &glb_with_triangle(name)), false).await;
        assert_eq!(page.status, 303, "{}", page.html);
        page.header("location").to_owned()
    }
}

async fn files_become_models_and_rejected_ones_say_why(served: Served) {
    let browser = served.browser(EMAIL).await;
    assert!(browser.get("/").await.shows("Nothing here yet"));
    let path = browser.uploaded("oak chair").await;
    assert!(path.starts_with("/models/"), "{path}");
    let page = browser.get(&path).await;
    assert!(page.shows("<h1>oak chair.glb</h1>") && page.shows("Meshes") && page.shows("Waiting"), "{}", page.html);
    assert!(browser.get("/").await.shows("oak chair.glb"));
    // One form contains several files. Each of them has its own result.
    let files = Form::default()
        .file("file", "oak chair.glb", &glb_with_triangle("oak chair"))
        .file("file", "lamp.glb", &glb_with_triangle("lamp"))
        .file("file", "broken.glb", b"no model")
        .file("file", "notes.txt", b"text");
    let page = browser.upload(files, false).await;
    assert_eq!(page.status, 200);
    assert!(page.shows("was there already") && page.shows(&path) && page.shows("is a model now"), "{}", page.html);
    assert!(page.shows("name must end in .glb or .zip") && page.shows("<strong>broken.glb</strong> was rejected"));
    let page = browser.upload(Form::default().file("file", "broken.glb", b"no model"), false).await;
    assert_eq!(page.status, 422, "{}", page.html);
    let nothing = browser.upload(Form::default().file("file", "", b""), false).await;
    assert!(nothing.status == 400 && nothing.shows("Choose at least one file"), "{} {}", nothing.status, nothing.html);
    // Uploads a file as the script does.
    let page = browser.upload(Form::default().file("file", "oak.glb", &glb_with_triangle("oak chair")), true).await;
    let answer: Value = serde_json::from_str(&page.html).unwrap();
    assert_eq!((page.status, &answer["duplicate"]), (200, &json!(true)));
    assert_eq!(format!("/models/{}", answer["modelId"].as_str().unwrap()), path);
    let page = browser.upload(Form::default().file("file", "notes.txt", b"text"), true).await;
    let answer: Value = serde_json::from_str(&page.html).unwrap();
    assert_eq!((page.status, answer["error"]["code"].as_str()), (400, Some("invalid_format")), "{answer}");
}

async fn an_upload_needs_the_token_of_its_session(served: Served) {
    let browser = served.browser(EMAIL).await;
    let file = || Form::default().file("file", "chair.glb", &glb_with_triangle("chair"));
    let stolen = served.browser(EMAIL).await.get("/keys").await.form_token();
    for head in [Form::default(), Form::default().text("form_token", "x"), Form::default().text("form_token", &stolen)]
    {
        let page = browser.upload_with(head, file(), false).await;
        assert!(page.status == 403 && page.shows("earlier session"), "{}: {}", page.status, page.html);
    }
    let late = file().text("form_token", &browser.get("/keys").await.form_token());
    assert_eq!(browser.upload_with(Form::default(), late, false).await.status, 403, "the token comes first");
    let request = browser.request(Method::POST, "/models").header("content-type", Form::content_type());
    let page = Page::of(request.header("origin", "https://evil.example").body(file().body())).await;
    assert!(page.status == 403 && page.shows("another site"));
    let stranger = Browser::new(&served.server.base);
    assert_eq!(
        stranger.upload_with(Form::default(), file(), false).await.status,
        303,
        "the response redirects to the sign-in page"
    );
    assert!(browser.get("/").await.shows("Nothing here yet"));
}

async fn models_are_found_edited_archived_and_deleted(served: Served) {
    let mut browser = served.browser(EMAIL).await;
    let (chair, lamp) = (browser.uploaded("chair").await, browser.uploaded("lamp").await);
    let edit = [("title", " Oak Chair 50%_x Öl "), ("sku", "SKU-17"), ("tags", "Wood, oak,, wood , Ähre")];
    assert_eq!(browser.send(&chair, &edit).await.header("location"), chair);
    let page = browser.get(&chair).await;
    assert!(page.shows("value=\"Oak Chair 50%_x Öl\"") && page.shows("value=\"wood, oak, ähre\""), "{}", page.html);
    for (query, finds) in [
        ("search=oak+chair", true),
        ("search=sku-17", true),
        ("search=WOOD", true),
        ("search=x+%C3%96l", true),
        ("search=%C3%84HRE", true),
        ("search=chair.glb", true),
        ("search=50%25_", true),
        ("search=5%25x", false),
        ("search=o_k", false),
        ("search=lamp", false),
        ("tags=oak", true),
        ("tags=oa", false),
        ("status=archived", false),
        ("status=any&tags=steel,wood&search=chair", true),
    ] {
        let page = browser.get(&format!("/?{query}")).await;
        assert_eq!(page.shows(&format!("href=\"{chair}\"")), finds, "{query}");
        assert_eq!(page.shows(&format!("href=\"{lamp}\"")), query == "search=lamp", "{query}");
    }
    assert!(browser.get("/?search=nothing").await.shows("No model fits"));
    assert_eq!(browser.get("/?status=all").await.status, 400);
    for (action, status) in [("archive", "archived"), ("unarchive", "active")] {
        assert_eq!(browser.send(&format!("{chair}/{action}"), &[]).await.status, 303);
        assert!(browser.get(&format!("/?status={status}")).await.shows(&format!("href=\"{chair}\"")));
        assert_eq!(
            browser.send(&format!("{chair}/{action}"), &[]).await.status,
            404,
            "the model is in this state already"
        );
    }
    let file = browser.get(&format!("{chair}/file")).await;
    assert_eq!(file.status, 307);
    let bytes = served.client.http.get(file.header("location")).send().await.unwrap().bytes().await.unwrap();
    assert_eq!(bytes, glb_with_triangle("chair"));
    let ask = browser.get(&format!("{chair}/delete")).await;
    assert!(
        ask.status == 200 && ask.shows("Oak Chair") && browser.get(&chair).await.status == 200,
        "the page that asks for confirmation deletes nothing"
    );
    assert_eq!(browser.send(&format!("{chair}/delete"), &[]).await.header("location"), "/");
    assert_eq!(browser.get(&chair).await.status, 404);
}

async fn a_model_keeps_the_largest_texts(served: Served) {
    let mut browser = served.browser(EMAIL).await;
    let chair = browser.uploaded("chair").await;
    let (title, sku) = ("\u{1FA91}".repeat(limits::TITLE_CHARS), "\u{1F4E6}".repeat(limits::TITLE_CHARS));
    let first = ('\u{1F600}'..).take(limits::TAGS);
    let tags: Vec<String> =
        first.map(|first| format!("{first}{}", "\u{1F3F7}".repeat(limits::TAG_CHARS - 1))).collect();
    let tags = tags.join(", ");
    // The page of the model sends each text twice, of which none is edited this time.
    let texts = [("title", title.as_str()), ("sku", &sku), ("tags", &tags)];
    let stored = [("stored_title", title.as_str()), ("stored_sku", &sku), ("stored_tags", &tags)];
    for form in [&texts[..], &[&texts[..], &stored].concat()[..]] {
        let saved = browser.send(&chair, form).await;
        assert_eq!((saved.status, saved.header("location")), (303, chair.as_str()), "{:.300}", saved.html);
    }
    let page = browser.get(&chair).await;
    assert!(texts.iter().all(|(_, text)| page.shows(&format!("value=\"{text}\""))), "{}", page.html);
    let longer = format!("{title}x");
    assert!(browser.send(&chair, &[("title", longer.as_str()), texts[1], texts[2]]).await.shows("at most 500"));
}

async fn many_models_are_changed_at_once(served: Served) {
    let mut browser = served.browser(EMAIL).await;
    let paths = [browser.uploaded("a").await, browser.uploaded("b").await, browser.uploaded("c").await];
    let ids: Vec<&str> = paths.iter().map(|path| path.trim_start_matches("/models/")).collect();
    let two = |more: &[(&'static str, &'static str)]| {
        let chosen = ids[..2].iter().map(|id| ("model", *id));
        chosen.chain(more.iter().copied()).collect::<Vec<_>>()
    };
    assert_eq!(
        browser.send("/models/bulk", &two(&[("action", "tag"), ("tag", " Summer ")])).await.header("location"),
        "/"
    );
    let tagged = browser.get("/?tags=summer").await;
    assert_eq!(paths.each_ref().map(|path| tagged.shows(path)), [true, true, false]);
    // Commas separate tags, as in the form of a model.
    assert_eq!(browser.send("/models/bulk", &two(&[("action", "tag"), ("tag", "Oak, chair,")])).await.status, 303);
    for path in &paths[..2] {
        assert_eq!(served.client.get(path).await.data()["tags"], json!(["summer", "oak", "chair"]));
    }
    assert_eq!(browser.send("/models/bulk", &two(&[("action", "archive")])).await.status, 303);
    // Models that are archived already stay archived.
    assert_eq!(browser.send("/models/bulk", &two(&[("action", "archive")])).await.status, 303);
    // A change leads back to the page of the list on which the models were chosen.
    let list = "/?status=archived";
    assert!(browser.get(list).await.shows(&format!("name=\"list\" value=\"{list}\"")));
    for (sent, back) in [("//evil.example", "/"), (list, list)] {
        let page = browser.send("/models/bulk", &two(&[("action", "unarchive"), ("list", sent)])).await;
        assert_eq!((page.status, page.header("location")), (303, back));
    }
    assert!(browser.get("/?status=archived&after=").await.shows("There are no older models."));
    // The page after a change that failed names the models.
    let many = (0..25).map(|n| format!("t{n}")).collect::<Vec<_>>().join(",");
    let page = browser.send("/models/bulk", &[("model", ids[2]), ("action", "tag"), ("tag", many.as_str())]).await;
    assert!(page.status == 409 && page.shows("<strong>c.glb</strong>"), "{}", page.html);
    let page = browser.send("/models/bulk", &two(&[("action", "delete"), ("list", "/?status=any")])).await;
    assert!(page.status == 200 && page.shows("Delete 2 models?") && page.shows("a.glb") && !page.shows("c.glb"));
    assert!(page.shows("href=\"/?status=any\">Keep them"), "{}", page.html);
    assert_eq!(browser.get(&paths[0]).await.status, 200, "the page that asks for confirmation deletes nothing");
    assert_eq!(browser.send("/models/bulk", &two(&[("action", "delete"), ("sure", "yes")])).await.status, 303);
    let left = browser.get("/?status=any").await;
    assert_eq!(paths.each_ref().map(|path| left.shows(path)), [false, false, true]);
    let blank = [("action", "tag"), ("model", ids[2]), ("tag", " , ")];
    for bad in [&[("action", "archive")][..], &[("action", "tag"), ("model", ids[2])], &blank, &[("model", ids[2])]] {
        assert_eq!(browser.send("/models/bulk", bad).await.status, 400, "{bad:?}");
    }
    let mut bob = {
        served.installation.admin(&["account", "create", BOB]);
        served.browser(BOB).await
    };
    for action in ["archive", "tag"] {
        let page = bob.send("/models/bulk", &[("model", ids[2]), ("action", action), ("tag", "x")]).await;
        assert!(page.status == 409 && page.shows("There is no such model."), "{action}: {}", page.html);
    }
    assert_eq!(bob.send("/models/bulk", &[("model", ids[2]), ("action", "delete")]).await.status, 404);
    assert!(browser.get(&paths[2]).await.status == 200 && !browser.get("/?tags=x").await.shows(&paths[2]));
}

async fn names_are_shown_as_text(served: Served) {
    let mut browser = served.browser(EMAIL).await;
    let made = served.client.upload(&HOSTILE.replace('"', "'"), None).await;
    let path = format!("/models/{}", made.text("modelId"));
    assert_eq!(browser.send(&path, &[("title", HOSTILE), ("sku", HOSTILE), ("tags", HOSTILE)]).await.status, 303);
    let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("search", HOSTILE).finish();
    let id = path.trim_start_matches("/models/");
    let rejected = browser.upload(Form::default().file("file", "<script>alert(1)</script>.txt", b"x"), false).await;
    let asked = browser.send("/models/bulk", &[("model", id), ("action", "delete")]).await;
    let mut pages = vec![rejected, asked];
    for path in ["/", &format!("/?{query}"), &path, &format!("{path}/delete"), "/renders"] {
        pages.push(browser.get(path).await);
    }
    for page in pages {
        assert!(page.shows("script&#62;alert(1)"), "{}", page.html);
        assert!(!page.shows("<script>alert") && !page.shows("\"\"><"), "{}", page.html);
    }
}

async fn other_accounts_and_viewers_cannot_change_models(served: Served) {
    let mut ada = served.browser(EMAIL).await;
    let path = ada.uploaded("chair").await;
    served.installation.admin(&["account", "create", BOB]);
    let mut bob = served.browser(BOB).await;
    let unknown = bob.get("/models/k3Jd92LmQx7a").await;
    let foreign = bob.get(&path).await;
    assert_eq!((unknown.status, foreign.status, &unknown.html), (404, 404, &foreign.html));
    for more in ["/delete", "/file"] {
        assert_eq!(bob.get(&format!("{path}{more}")).await.status, 404, "{more}");
    }
    let edit = [("title", "x"), ("sku", ""), ("tags", "")];
    for more in ["", "/archive", "/delete"] {
        assert_eq!(bob.send(&format!("{path}{more}"), &edit).await.status, 404, "{more}");
    }
    let file = glb_with_triangle("chair");
    let sha256 = plinth_testkit::sha256_hex(&file);
    let found = ada.send("/models/check-hash", &[("sha256", &sha256)]).await;
    assert!(found.shows("\"exists\":true") && found.shows(path.trim_start_matches("/models/")), "{}", found.html);
    assert!(bob.send("/models/check-hash", &[("sha256", &sha256)]).await.shows("\"exists\":false"));
    // A viewer of a team sees the models of the team, but cannot change them.
    let team = served.installation.admin(&["workspace", "create", "Team", "--owner", EMAIL])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let of_team = served.client(&served.installation.key(EMAIL, &["--workspace", &team]));
    let made = of_team.upload("team chair", None).await;
    let (path, render) = (format!("/models/{}", made.text("modelId")), format!("/renders/{}", made.text("renderId")));
    served.installation.admin(&["workspace", "add", &team, BOB, "--role", "viewer"]);
    assert_eq!(bob.send("/workspace", &[("workspace", &team)]).await.status, 303);
    let page = bob.get(&path).await;
    assert!(page.status == 200 && !page.shows("<h2>Edit</h2>") && !bob.get("/").await.shows("class=\"upload\""));
    assert_eq!(bob.send(&path, &edit).await.status, 403);
    assert_eq!(bob.upload(Form::default().file("file", "x.glb", &file), false).await.status, 403);
    for action in ["archive", "delete"] {
        assert_eq!(bob.send(&format!("{path}/{action}"), &[]).await.status, 403, "{action}");
    }
    assert!(!bob.get(&render).await.shows("Cancel the render"));
    assert_eq!(bob.send(&format!("{render}/cancel"), &[]).await.status, 403);
    assert_eq!(of_team.post(&format!("{render}/cancel"), json!({})).await.status, 200);
    let (page, list) = (bob.get(&render).await, bob.get("/renders").await);
    assert!(page.shows("Cancelled") && list.shows(&render), "{}", page.html);
    assert!(!page.shows("Delete…") && !list.shows("Delete…") && !list.shows("checkbox"), "{}", list.html);
    assert_eq!(bob.get(&format!("{render}/delete")).await.status, 403);
    let id = render.trim_start_matches("/renders/");
    assert_eq!(bob.send("/renders/delete", &[("render", id), ("sure", "yes")]).await.status, 403);
}

async fn an_empty_workspace_asks_only_editors_to_upload(served: Served) {
    let team = served.installation.admin(&["workspace", "create", "Team", "--owner", EMAIL])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    served.installation.admin(&["account", "create", BOB]);
    let mut bob = served.browser(BOB).await;
    for (role, is_asked) in [("viewer", false), ("editor", true)] {
        served.installation.admin(&["workspace", "add", &team, BOB, "--role", role]);
        assert_eq!(bob.send("/workspace", &[("workspace", &team)]).await.status, 303);
        for (path, text) in [("/", "Upload a model above"), ("/renders", "Upload a model</a>"), ("/looks", "composer")]
        {
            let page = bob.get(path).await;
            let shown = page.between("<main", "</main>");
            assert_eq!(shown.contains(text), is_asked, "{role} {path}: {shown}");
        }
    }
}

on_both! {
    files_become_models_and_rejected_ones_say_why an_upload_needs_the_token_of_its_session
    models_are_found_edited_archived_and_deleted a_model_keeps_the_largest_texts
    many_models_are_changed_at_once names_are_shown_as_text other_accounts_and_viewers_cannot_change_models
    an_empty_workspace_asks_only_editors_to_upload
}
