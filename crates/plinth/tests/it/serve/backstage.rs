//! Direct access to the service of a running server. Tests use it to act as a worker, or at an earlier or later time.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use plinth_db::{Db, DbOptions};
use plinth_service::access::Caller;
use plinth_service::jobs::{Claim, RenderFiles, StoredFile};
use plinth_service::{Clock, Service, ServiceOptions};
use plinth_spec::OutputFile;
use plinth_spec::idempotency::ReplayKey;
use plinth_spec::quality::Codec;
use plinth_spec::wire::CreateRender;
use plinth_store::{LinkSigner, ObjectKey, Store};
use plinth_testkit::Client;
use serde_json::{Value, json};

use super::server::{EMAIL, Served};

/// Returns the content that tests store for an output file. Each file has a different content and length.
pub(crate) fn content(name: &str) -> String {
    format!("{name}: 0123456789")
}

pub(crate) struct Backstage {
    pub(crate) service: Service,
    pub(crate) caller: Caller,
}

impl Backstage {
    /// Opens the service of a server at the present time.
    pub(crate) async fn of(served: &Served) -> Self {
        Self::ago(served, Duration::ZERO).await
    }

    /// Opens the service of a server with a clock that is behind by `ago`.
    pub(crate) async fn ago(served: &Served, ago: Duration) -> Self {
        Self::at(served, SystemTime::now() - ago).await
    }

    /// Opens the service of a server with a clock that is ahead by `later`.
    pub(crate) async fn later(served: &Served, later: Duration) -> Self {
        Self::at(served, SystemTime::now() + later).await
    }

    async fn at(served: &Served, time: SystemTime) -> Self {
        let db = Db::open(&served.installation.database(), DbOptions::default()).await.unwrap();
        let signer = LinkSigner::new(served.server.base.parse().unwrap());
        let store = Store::open(served.installation.store(signer)).unwrap();
        let time = i64::try_from(time.duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
        let options = ServiceOptions {
            clock: Clock::Set(Arc::new(AtomicI64::new(time))),
            incoming: served.installation.folder.path().to_owned(),
            // The lease time is long enough that no lease expires on a slow machine.
            lease_secs: 24 * 3600,
            ..ServiceOptions::default()
        };
        let service = Service::new(db, store, options);
        let caller = service.authenticate(Some(&served.client.token)).await.unwrap();
        Self { service, caller }
    }

    /// Creates a render.
    pub(crate) async fn order(&self, model: &str, settings: &Value, key: Option<&str>) -> String {
        let request = CreateRender { model_id: Some(model.to_owned()), render_settings: Some(settings.clone()) };
        let made = self.service.create_render(&self.caller, request, ReplayKey::from_header(key)).await;
        made.unwrap().id.to_string()
    }

    /// Claims the oldest queued render, which must have this ID.
    pub(crate) async fn claim(&self, id: &str) -> Claim {
        let claim = self.service.claim_renders("test", 1).await.unwrap().pop().unwrap();
        assert_eq!(claim.render.id.as_str(), id);
        claim
    }

    /// Acts as a worker that finishes the oldest queued render. Each file has a few bytes.
    pub(crate) async fn finish(&self, id: &str, codec: Codec, files: &[OutputFile]) {
        let claim = self.claim(id).await;
        let mut made = RenderFiles::none(codec);
        for file in files {
            made.stored.insert(*file, self.store(&claim, *file, codec).await);
        }
        self.service.poster_stored(&claim).await.unwrap().unwrap();
        self.service.finish_render(&claim, &made, &[]).await.unwrap().unwrap();
    }

    /// Acts as a worker that finishes the oldest queued render, a dataset with this archive.
    pub(crate) async fn finish_dataset(&self, id: &str, archive: Vec<u8>) {
        let claim = self.claim(id).await;
        let key = ObjectKey::Render(&claim.render.id, claim.render.attempt, OutputFile::Dataset, Codec::H264);
        let mut made = RenderFiles::none(Codec::H264);
        let stored = self.service.store().put(&key, archive.into()).await.unwrap();
        made.stored.insert(OutputFile::Dataset, stored.into());
        self.service.poster_stored(&claim).await.unwrap().unwrap();
        self.service.finish_render(&claim, &made, &[]).await.unwrap().unwrap();
    }

    /// Stores a file of a claimed render.
    pub(crate) async fn store(&self, claim: &Claim, file: OutputFile, codec: Codec) -> StoredFile {
        let key = ObjectKey::Render(&claim.render.id, claim.render.attempt, file, codec);
        self.service.store().put(&key, Bytes::from(content(&file.file_name(codec)))).await.unwrap().into()
    }

    /// Acts as a worker that finishes the oldest queued packaging. Each file has a few bytes.
    pub(crate) async fn package(&self, id: &str, names: &[&str]) {
        let claim = self.service.claim_packaging("test").await.unwrap().unwrap();
        assert_eq!(claim.render.id.as_str(), id);
        for name in names {
            let key = ObjectKey::Hls(&claim.render.id, claim.render.attempt, claim.render.hls_attempt, name);
            self.service.store().put(&key, Bytes::from(content(name))).await.unwrap();
        }
        self.service.finish_packaging(&claim, 1000).await.unwrap().unwrap();
    }
}

/// All output files of a video that is not ProRes.
pub(crate) const VIDEO: [OutputFile; 5] =
    [OutputFile::Video, OutputFile::Web, OutputFile::Thumb, OutputFile::FullPoster, OutputFile::Poster];
/// Some files of a packaged video: one file of each kind.
pub(crate) const PACKAGING: [&str; 5] =
    ["master.m3u8", "540p/init.mp4", "540p/0.m4s", "thumbnails.vtt", "sprite-0.jpg"];

impl Served {
    /// Creates a finished dataset with this archive. Returns its ID.
    pub(crate) async fn finished_dataset(&self, archive: Vec<u8>) -> String {
        self.installation.admin(&["credits", "grant", EMAIL, "100"]);
        // Datasets with archives of different lengths get different models.
        let model = format!("set of {} bytes", archive.len());
        let made = self.client.upload(&model, Some(json!({"output": "dataset", "datasetQuality": "100x800"}))).await;
        let (backstage, id) = (Backstage::of(self).await, made.text("renderId"));
        backstage.finish_dataset(&id, archive).await;
        id
    }

    /// Creates a finished video that is not packaged yet. Returns its ID.
    pub(crate) async fn finished(&self) -> String {
        self.finished_of(&self.client).await
    }

    /// Creates a finished video of another account that is not packaged yet. Returns its ID.
    pub(crate) async fn finished_of(&self, client: &Client) -> String {
        let made = client.upload("finished", Some(json!({"quality": "share", "length": 1}))).await;
        let (backstage, id) = (Backstage::of(self).await, made.text("renderId"));
        backstage.finish(&id, Codec::H264, &VIDEO).await;
        backstage.package(&id, &PACKAGING).await;
        id
    }
}
