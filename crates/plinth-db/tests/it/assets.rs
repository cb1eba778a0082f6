//! Tests of overlays, textures, environments and products.

use plinth_db::envs::{self, Env};
use plinth_db::overlays::{self, Overlay};
use plinth_db::textures::{self, Texture};
use plinth_db::{DbError, products};
use plinth_spec::id::{EnvId, OverlayId, TextureId};
use plinth_spec::wire::{Alignment, Layer, Product};
use plinth_testkit::on_both_databases;

use crate::make;

fn overlay(n: u32, workspace: u32, layer: Layer) -> Overlay {
    Overlay {
        id: OverlayId::parse(&make::id_text('o', n)).unwrap(),
        workspace_id: make::workspace_id(workspace),
        layer,
        name: "Sky".to_owned(),
        description: String::new(),
        alignment: Alignment::Center,
        opacity: 0.25,
        file_size: 10,
        width: 4,
        height: 2,
        filename: "sky.png".to_owned(),
        content_type: "image/png".to_owned(),
        sha256: "hash".to_owned(),
        is_system: false,
        created_at: i64::from(n),
    }
}

async fn own_and_system_overlays_are_listed(address: &str) {
    let db = make::open(address).await;
    db.write(|tx| {
        Box::pin(async move {
            make::tenant(tx, 2).await?;
            for (n, workspace, layer) in [(1, 1, Layer::Background), (2, 1, Layer::Decal), (3, 2, Layer::Decal)] {
                overlays::insert(tx, &overlay(n, workspace, layer)).await?;
            }
            Ok::<_, DbError>(())
        })
    })
    .await
    .unwrap();
    let own = make::workspace_id(1);
    let conn = &mut db.read().await.unwrap();
    assert_eq!(overlays::list(conn, &own, None).await.unwrap().len(), 2);
    let mut decals = overlays::list(conn, &own, Some(Layer::Decal)).await.unwrap();
    assert_eq!(decals.pop(), Some(overlay(2, 1, Layer::Decal)));
    let (second, third) = (overlay(2, 1, Layer::Decal).id, overlay(3, 2, Layer::Decal).id);
    assert!(db.write(move |tx| Box::pin(async move { overlays::set_system(tx, &third, true).await })).await.unwrap());
    assert_eq!(overlays::list(conn, &own, Some(Layer::Decal)).await.unwrap().len(), 2);
    assert_eq!(overlays::count(conn, &own).await.unwrap(), 2);
    let found = overlays::find_by_sha256(conn, &own, "hash", Layer::Decal).await.unwrap();
    assert_eq!(found.as_ref(), Some(&second));
    assert!(overlays::find_by_sha256(conn, &own, "hash", Layer::Texture).await.unwrap().is_none());
    let gone = second.clone();
    assert!(db.write(move |tx| Box::pin(async move { overlays::delete(tx, &gone).await })).await.unwrap());
    assert!(overlays::find_anywhere(conn, &second).await.unwrap().is_none());
}

async fn usage_counts_textures_and_environments_and_their_bytes(address: &str) {
    let db = make::open(address).await;
    let own = make::workspace_id(1);
    let texture = Texture {
        id: TextureId::parse(&make::id_text('x', 1)).unwrap(),
        workspace_id: own.clone(),
        name: "Wood".to_owned(),
        file_size: 30,
        width: 8,
        height: 8,
        content_type: "image/webp".to_owned(),
        sha256: "wood".to_owned(),
        created_at: 1,
    };
    let env = Env {
        id: EnvId::parse(&make::id_text('v', 1)).unwrap(),
        workspace_id: own.clone(),
        name: "Garden".to_owned(),
        file_size: 40,
        width: Some(64),
        height: None,
        has_thumb: true,
        is_system: false,
        created_at: 1,
    };
    let (t, e, other) = (texture.clone(), env.clone(), make::workspace_id(2));
    let twice = Texture { id: TextureId::parse(&make::id_text('x', 2)).unwrap(), ..texture.clone() };
    db.write(|tx| {
        Box::pin(async move {
            textures::insert(tx, &t).await?;
            envs::insert(tx, &e).await
        })
    })
    .await
    .unwrap();
    let again = db.write(|tx| Box::pin(async move { textures::insert(tx, &twice).await })).await.unwrap_err();
    assert!(again.is_duplicate(), "a workspace cannot have two textures with the same content");
    let conn = &mut db.read().await.unwrap();
    assert_eq!(textures::usage(conn, &own).await.unwrap(), (1, 30));
    assert_eq!(envs::usage(conn, &own).await.unwrap(), (1, 40));
    assert_eq!(textures::find_by_sha256(conn, &own, "wood").await.unwrap().as_ref(), Some(&texture.id));
    assert_eq!(textures::list(conn, &own).await.unwrap(), std::slice::from_ref(&texture));
    assert_eq!(envs::list(conn, &own).await.unwrap(), std::slice::from_ref(&env));
    assert!(textures::find(conn, &other, &texture.id).await.unwrap().is_none());
    assert!(envs::find(conn, &other, &env.id).await.unwrap().is_none());
    let removed = db
        .write(move |tx| {
            Box::pin(async move {
                Ok::<_, DbError>([
                    textures::delete(tx, &other, &texture.id).await?,
                    envs::delete(tx, &other, &env.id).await?,
                    textures::delete(tx, &own, &texture.id).await?,
                    envs::delete(tx, &own, &env.id).await?,
                ])
            })
        })
        .await
        .unwrap();
    assert_eq!(removed, [false, false, true, true]);
}

async fn upsert_changes_an_existing_product(address: &str) {
    let db = make::open(address).await;
    let pack = |credits| Product {
        id: "small".to_owned(),
        name: "Small".to_owned(),
        credits,
        price_cents: 900,
        currency: "eur".to_owned(),
        stripe_price_id: "price_1".to_owned(),
    };
    for credits in [100, 150] {
        let pack = pack(credits);
        db.write(move |tx| Box::pin(async move { products::upsert(tx, &pack).await })).await.unwrap();
    }
    assert_eq!(products::list(&mut db.read().await.unwrap()).await.unwrap(), [pack(150)]);
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        own_and_system_overlays_are_listed
        usage_counts_textures_and_environments_and_their_bytes
        upsert_changes_an_existing_product
    }
}
