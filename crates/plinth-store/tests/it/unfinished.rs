//! Tests of the removal of partial uploads.

use std::fs::File;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{MultipartUpload as _, ObjectStoreExt as _};
use plinth_spec::id::ModelId;
use plinth_store::ObjectKey;

use crate::both::local;

#[tokio::test]
async fn only_old_partial_uploads_are_removed() {
    let (store, folder) = local();
    let objects = folder.path().join("objects");
    let id = ModelId::parse("m00000000001").unwrap();
    store.put(&ObjectKey::Model(&id), Bytes::from_static(b"whole")).await.unwrap();
    // A killed process runs no destructors, which `forget` simulates.
    for _begun in 0..2 {
        let files = LocalFileSystem::new_with_prefix(&objects).unwrap();
        let mut upload = files.put_multipart(&Path::from("renders/r1/1/video.mp4")).await.unwrap();
        upload.put_part(Bytes::from_static(b"half").into()).await.unwrap();
        std::mem::forget(upload);
    }
    let [old, new] = ["video.mp4#1", "video.mp4#2"].map(|name| objects.join("renders/r1/1").join(name));
    let now = SystemTime::now();
    let (day, old_file) = (Duration::from_hours(24), File::options().append(true).open(&old).unwrap());
    old_file.set_modified(now - 3 * day).unwrap();
    let model = objects.join(ObjectKey::Model(&id).path());
    File::options().append(true).open(&model).unwrap().set_modified(now - 3 * day).unwrap();
    assert_eq!(store.remove_unfinished(now - 2 * day).await.unwrap(), 1);
    assert!(!old.exists() && new.exists() && model.exists());
    assert_eq!(store.remove_unfinished(now - 2 * day).await.unwrap(), 0);
}
