//! Pictures of environments.

use plinth_db::envs;
use plinth_spec::EnvPart;
use plinth_spec::id::EnvId;
use plinth_store::ObjectKey;

use super::envs::check_is_own;
use super::not_found;
use crate::access::Caller;
use crate::delivery::Delivery;
use crate::error::Result;
use crate::service::Service;

impl Service {
    /// Returns the name of an environment that the caller's workspace can delete.
    /// Errors: the environment does not exist, or it is a system environment.
    pub async fn env_name(&self, caller: &Caller, id: &str) -> Result<String> {
        let env = self.env_row(caller, id).await?;
        check_is_own(&env)?;
        Ok(env.name)
    }

    /// Finds a picture of an environment: the thumbnail, or the SDR image if the environment has no thumbnail.
    pub async fn env_picture(&self, caller: &Caller, id: &str) -> Result<Delivery> {
        let env = self.env_row(caller, id).await?;
        let part = if env.has_thumb { EnvPart::Thumb } else { EnvPart::Sdr };
        let found = self.deliver(&ObjectKey::Env(&env.id, part), None).await?;
        found.ok_or_else(|| not_found("environment"))
    }

    async fn env_row(&self, caller: &Caller, id: &str) -> Result<envs::Env> {
        let id = EnvId::parse(id).ok_or_else(|| not_found("environment"))?;
        let found = envs::find(&mut self.db.read().await?, &caller.workspace_id, &id).await?;
        found.ok_or_else(|| not_found("environment"))
    }
}
