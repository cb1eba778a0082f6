//! Price quotes for renders.

use plinth_db::accounts;
use plinth_spec::pricing::{self, Quote};
use plinth_spec::settings::ParseOptions;
use plinth_spec::wire::QuoteRequest;
use plinth_spec::{ErrorCode, RenderSettings, limits};

use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// The price of renders, and how the paying account would pay it.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// The price, as the API returns it.
    pub quote: Quote,
    /// Number of renders for which the free pool would pay, so that they are watermarked.
    pub watermarked: usize,
}

impl Service {
    /// Returns the price of renders, and whether the balance of the paying account covers it.
    pub async fn quote(&self, caller: &Caller, request: QuoteRequest) -> Result<Quote> {
        Ok(self.price(caller, request).await?.quote)
    }

    /// Returns the price of renders, and for how many of them the free pool of the paying account would pay.
    pub async fn price(&self, caller: &Caller, request: QuoteRequest) -> Result<Price> {
        let missing = || {
            ServiceError::new(ErrorCode::RendersRequired, "send a list of at least one render in the field 'renders'")
        };
        let items = request.renders.filter(|items| !items.is_empty()).ok_or_else(missing)?;
        if items.len() > limits::QUOTE_ITEMS {
            let message = format!("a quote has at most {} renders, not {}", limits::QUOTE_ITEMS, items.len());
            return Err(ServiceError::new(ErrorCode::TooMany, message));
        }
        let options = ParseOptions { uncapped_length: caller.is_admin };
        let settings = items.iter().enumerate().map(|(index, item)| {
            RenderSettings::from_json(item, options)
                .map_err(|error| ServiceError::from(error).of_render(index, items.len()))
        });
        let settings = settings.collect::<Result<Vec<_>>>()?;
        let payer = accounts::find(&mut self.db.read().await?, &caller.payer_id).await?;
        let payer = payer.ok_or_else(|| ServiceError::internal("the paying account is missing"))?;
        Ok(Price {
            quote: pricing::quote(&settings, payer.balance),
            watermarked: pricing::paid_by_free_pool(&settings, payer.balance),
        })
    }
}
