//! Tests in a real browser that hostile names inside of a model never run as code.

use plinth_testkit::{Form, glb_with_names};
use serde_json::json;

use super::studio_browser::{drawing, no_errors, sign_in};
use super::studio_pages::fits;
use super::webdriver::Chromium;

/// Point of the first preview at which the model of `glb_with_names` is visible, in fractions of width and height.
const ON_MODEL: (f64, f64) = (0.4, 0.6);
/// Variable that the code in the hostile names tries to set. It must stay unset on every page.
const RAN: &str = "window.ran";

/// Returns names that break out of text, attributes and scripts if they are not escaped. One of them changes the text
/// direction, and another is longer than any line.
fn hostile_names() -> [String; 4] {
    let image = "<img src=x onerror=window.ran=1>";
    [
        image.to_owned(),
        format!("\"'`><script>window.ran=2</script>{image}</option></datalist></textarea>${{window.ran=3}}"),
        format!("\u{202e}\u{2066}{image}\u{0}\u{1b}\u{7f}\u{fffe}\r\n\t"),
        format!("{}{image}", "long".repeat(2500)),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_names_in_a_model_run_nothing_in_a_browser() {
    let served = drawing();
    let Some(page) = Chromium::start(true).await else { return };
    sign_in(&served, &page).await;
    page.resize(1280, 800).await;
    for (n, name) in (0..).zip(hostile_names()) {
        // A multipart header can contain only a part of the name.
        let file_name: String =
            name.chars().filter(|c| !c.is_control() && !['"', '\\'].contains(c)).take(200).collect();
        let settings = json!({"quality": "share", "length": 0.2, "materialEdits": {format!("{name} 3"): {"roughness": 0.5}},
            "hiddenMeshNames": [name], "animation": format!("{name} 5")});
        // Without settings, the upload would draw a preview of six seconds.
        let form = Form::default().text("renderSettings", r#"{"quality": "share", "length": 0.1}"#);
        let form = form.file("file", &format!("{file_name}.glb"), &glb_with_names(&name));
        let made = served.client.form("/models", form).await;
        assert_eq!(made.status, 201, "{n}: {made:?}");
        let model = made.text("modelId");
        // Settings reject names that are too long, but the pages of the model still show these names.
        let order = served.client.post("/renders", json!({"modelId": model, "renderSettings": settings})).await;
        let is_ordered = order.status == 201;
        assert!(is_ordered || order.status == 400, "{n}: {order:?}");
        let unharmed = async || {
            assert_eq!(page.run(&format!("return {RAN} ?? null;")).await, json!(null), "{n}");
            let parsed = "document.querySelectorAll('img[src=x], img[onerror], main script').length";
            assert_eq!(page.run(&format!("return {parsed};")).await, 0, "{n}");
            no_errors(&page).await;
        };
        page.open(&format!("{}/models/{model}", served.server.base)).await;
        page.until("document.querySelectorAll('.names li').length >= 2").await;
        unharmed().await;
        fits(&page).await;
        page.open(&format!("{}/models/{model}/compose", served.server.base)).await;
        page.until("document.querySelector('.stage > img')?.naturalWidth === 1280").await;
        page.until("document.querySelector('#animation').options.length === 3").await;
        page.resize(1280, 800).await;
        page.run("window.scrollTo(0, 0);").await;
        page.click_at(".stage > img", ON_MODEL).await;
        page.until("document.querySelector('.surface-menu:popover-open')").await;
        page.until("document.querySelector('.outline polygon')").await;
        unharmed().await;
        let edit = "[...document.querySelectorAll('.surface-menu button')].find((one) => one.textContent === 'Edit this material')";
        if page.run(&format!("return Boolean({edit});")).await == true {
            page.run(&format!("{edit}.click();")).await;
            page.until("document.querySelector('[data-key=materialEdits] fieldset legend')").await;
        }
        page.run(
            "document.querySelector('#animation').selectedIndex = 2; \
                  document.querySelector('#animation').dispatchEvent(new Event('change', {bubbles: true}));",
        )
        .await;
        page.until("document.querySelector('.timeline').childElementCount > 0").await;
        unharmed().await;
        let render = if is_ordered { order.text("id") } else { made.text("renderId") };
        page.open(&format!("{}/renders/{render}", served.server.base)).await;
        page.until("document.querySelector('.head .status.done')").await;
        unharmed().await;
        fits(&page).await;
    }
    page.open(&format!("{}/", served.server.base)).await;
    page.until("document.querySelectorAll('.tile').length === 4").await;
    fits(&page).await;
    assert_eq!(page.run(&format!("return {RAN} ?? null;")).await, json!(null));
    no_errors(&page).await;
}
