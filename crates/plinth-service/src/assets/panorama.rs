//! Environments from panoramas (`.hdr`, `.exr`), which are encoded as gain maps in a separate process.

use std::path::PathBuf;

use plinth_db::envs::{self, Env};
use plinth_spec::id::EnvId;
use plinth_spec::wire::AssetCreated;
use plinth_spec::{EnvPart, ErrorCode, limits};
use tempfile::NamedTempFile;

use super::asset_name;
use super::envs::check_quota;
use crate::access::Caller;
use crate::check::{CheckError, PanoramaReport};
use crate::error::{Result, ServiceError};
use crate::ids::New as _;
use crate::models::{Incoming, ReceivedFile, new_file};
use crate::service::Service;

/// An uploaded panorama.
#[derive(Debug)]
pub struct NewPanorama {
    /// Content of the file.
    pub file: Incoming,
    /// Name of the file.
    pub file_name: String,
    /// Display name. If it is empty, the environment is named after the file.
    pub name: String,
}

impl Service {
    /// Starts to receive the file of a panorama. `length` is the size of the request, if it is known. See
    /// [`incoming_model`](Self::incoming_model), which receives models in the same way.
    pub async fn incoming_panorama(&self, caller: &Caller, length: Option<u64>) -> Result<Incoming> {
        self.incoming(&caller.payer_id, limits::PANORAMA_BYTES, length).await
    }

    /// Encodes a panorama as an environment with a thumbnail, and stores the environment.
    /// Errors: the file cannot be used, or the account has reached its limit of environments.
    pub async fn create_env_from_panorama(&self, caller: &Caller, new: NewPanorama) -> Result<AssetCreated> {
        if new.file.size() == 0 {
            return Err(ServiceError::new(ErrorCode::NoFile, "choose a panorama, a .hdr or .exr file"));
        }
        let name = asset_name(Some(if new.name.trim().is_empty() { stem(&new.file_name) } else { &new.name }))?;
        let source = new.file.finish().await?;
        let made = EnvPart::ALL.iter().map(|_part| new_file(&self.options.incoming)).collect::<Result<Vec<_>>>()?;
        let to: Vec<PathBuf> = made.iter().map(|file| file.path().to_owned()).collect();
        let report =
            self.check(&caller.payer_id, source.path().to_owned(), to).await?.map_err(|error| match error {
                CheckError::TooMuch(message) => unusable(&message),
                CheckError::Interrupted => CheckError::interrupted(ErrorCode::Internal),
                CheckError::Failed(cause) => ServiceError::internal(cause),
            })?;
        let (width, height) = match report {
            PanoramaReport::Encoded { width, height } => (width, height),
            PanoramaReport::Rejected { message } => return Err(unusable(&message)),
        };
        let files = tokio::task::spawn_blocking(|| made.into_iter().map(encoded_part).collect::<Result<Vec<_>>>());
        let files = files.await.map_err(ServiceError::internal)??;
        let parts: Vec<_> = EnvPart::ALL.iter().copied().zip(files).collect();
        // The process that encodes has read an untrusted file, so its output is checked like any upload.
        for (part, file) in &parts {
            self.check_part(caller, *part, file).await?;
        }
        let env = Env {
            id: EnvId::new_random(),
            workspace_id: caller.workspace_id.clone(),
            name,
            file_size: parts.iter().map(|(_part, file)| file.size).sum(),
            width: Some(width.min(limits::ENV_WIDTH)),
            height: Some(height.min(limits::ENV_WIDTH)),
            has_thumb: true,
            is_system: false,
            created_at: 0,
        };
        check_quota(envs::usage(&mut self.db.read().await?, &env.workspace_id).await?, env.file_size)?;
        self.store_env(caller, env, &parts).await
    }
}

/// Hashes the file of one part of an environment, which the encoding process has written.
/// Errors: the file is larger than [`limits::ENV_PART_BYTES`].
fn encoded_part(file: NamedTempFile) -> Result<ReceivedFile> {
    if file.as_file().metadata()?.len() > limits::ENV_PART_BYTES {
        let most = limits::ENV_PART_BYTES >> 20;
        return Err(unusable(&format!("a part of it has more than {most} MB when it is encoded; scale it down")));
    }
    ReceivedFile::from_file(file)
}

fn unusable(problem: &str) -> ServiceError {
    ServiceError::bad_request(format!("the panorama cannot be used: {problem}"))
}

/// Returns the name of a file without its folder and its extension, shortened to the longest name that is allowed.
fn stem(file_name: &str) -> &str {
    let name = file_name.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = name.rsplit_once('.').map_or(name, |(stem, _extension)| stem);
    let end = stem.char_indices().nth(limits::ASSET_NAME_CHARS).map_or(stem.len(), |(at, _)| at);
    stem.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_are_named_after_their_files() {
        for (file, name) in [
            ("garden_4k.hdr", "garden_4k"),
            ("C:\\pictures\\a.b.exr", "a.b"),
            ("../../x.hdr", "x"),
            ("plain", "plain"),
            ("", ""),
        ] {
            assert_eq!(stem(file), name);
        }
        assert_eq!(stem(&format!("{}.hdr", "é".repeat(300))).chars().count(), limits::ASSET_NAME_CHARS);
    }
}
