//! Price quotes for renders.

use plinth_db::accounts;
use plinth_spec::pricing::{self, Quote};
use plinth_spec::settings::ParseOptions;
use plinth_spec::wire::QuoteRequest;
use plinth_spec::{ErrorCode, RenderSettings, limits};

use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::service::Service;

impl Service {
    /// Returns the price of renders, and the pools of the paying account that would cover the price.
    pub async fn quote(&self, caller: &Caller, request: QuoteRequest) -> Result<Quote> {
        let missing = || {
            ServiceError::new(ErrorCode::RendersRequired, "send a list of at least one render in the field 'renders'")
        };
        let items = request.renders.filter(|items| !items.is_empty()).ok_or_else(missing)?;
        if items.len() > limits::QUOTE_ITEMS {
            let message = format!("a quote has at most {} renders, not {}", limits::QUOTE_ITEMS, items.len());
            return Err(ServiceError::new(ErrorCode::TooMany, message));
        }
        let options = ParseOptions { uncapped_length: caller.is_admin };
        let settings = items.iter().map(|item| RenderSettings::from_json(item, options));
        let settings = settings.collect::<std::result::Result<Vec<_>, _>>()?;
        let payer = accounts::find(&mut self.db.read().await?, &caller.payer_id).await?;
        let payer = payer.ok_or_else(|| ServiceError::internal("the paying account is missing"))?;
        Ok(pricing::quote(&settings, payer.balance))
    }
}
