//! Sends mails by SMTP. Without a mail server, mails are written to the log.

use std::time::Duration;

use lettre::message::{Mailbox, header::ContentType};
use lettre::{Address, AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};

use crate::error::{Result, ServiceError};
use crate::ids::random_text;
use crate::service::Service;

/// Length of the random part of a message's identifier, in characters.
const ID_CHARS: usize = 24;
/// Time limit of a connection to the mail server.
const TIMEOUT: Duration = Duration::from_secs(15);

/// A mail server, and the sender of mails.
#[derive(Clone)]
pub struct MailOptions {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

impl MailOptions {
    /// Reads the URL of a mail server: `smtps://USER:PASSWORD@HOST`, or `smtp://HOST:PORT?tls=required`. `from` is an
    /// address, with or without a name. Returns `None` if `url` or `from` is malformed, or if the password would be sent
    /// without encryption.
    pub fn parse(url: &str, from: &str) -> Option<Self> {
        let parsed = url::Url::parse(url).ok()?;
        let requires_tls =
            parsed.scheme() == "smtps" || parsed.query_pairs().any(|pair| pair == ("tls".into(), "required".into()));
        if parsed.password().is_some() && !requires_tls {
            return None;
        }
        let transport = AsyncSmtpTransport::<Tokio1Executor>::from_url(url).ok()?.timeout(Some(TIMEOUT)).build();
        Some(Self { transport, from: from.parse().ok()? })
    }
}

impl std::fmt::Debug for MailOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MailOptions").field("from", &self.from.to_string()).finish_non_exhaustive()
    }
}

/// A mail as plain text.
#[derive(Clone, Debug)]
pub(crate) struct Mail {
    pub to: String,
    pub subject: String,
    pub text: String,
}

impl Service {
    /// Sends a mail, or writes it to the log if no mail server is configured.
    pub(crate) async fn send_mail(&self, mail: &Mail) -> Result<()> {
        let Some(options) = &self.options.mail else {
            tracing::info!(
                mail.to = mail.to,
                mail.subject = mail.subject,
                mail.text = mail.text,
                "no mail server is configured, so this mail is not sent"
            );
            return Ok(());
        };
        options.transport.send(message(&options.from, mail)?).await.map(drop).map_err(ServiceError::internal)
    }
}

/// Builds the message of a mail. Large mail providers reject messages without a `Message-ID`, which not every mail server adds, and
/// the library adds none by itself.
fn message(from: &Mailbox, mail: &Mail) -> Result<Message> {
    let to: Address = mail.to.parse().map_err(ServiceError::internal)?;
    let id = format!("<{}@{}>", random_text(ID_CHARS), from.email.domain());
    let message = Message::builder().from(from.clone()).to(Mailbox::new(None, to)).message_id(Some(id));
    let message = message.subject(&mail.subject).header(ContentType::TEXT_PLAIN).body(mail.text.clone());
    message.map_err(ServiceError::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn passwords_are_sent_only_with_encryption() {
        let from = "Plinth <plinth@example.org>";
        for good in [
            "smtp://127.0.0.1:2525",
            "smtps://me:secret@mail.example.org",
            "smtp://me:s@mail.example.org:587?tls=required",
        ] {
            assert!(MailOptions::parse(good, from).is_some(), "{good}");
        }
        for bad in
            ["smtp://me:secret@mail.example.org", "smtp://me:s@mail.example.org?tls=opportunistic", "http://x", "mail"]
        {
            assert!(MailOptions::parse(bad, from).is_none(), "{bad}");
        }
        assert!(MailOptions::parse("smtp://127.0.0.1", "nobody").is_none());
        let shown = format!("{:?}", MailOptions::parse("smtps://me:secret@mail.example.org", from));
        assert!(!shown.contains("secret"), "{shown}");
    }

    #[test]
    fn every_message_has_an_identifier_of_its_own() {
        let from: Mailbox = "Plinth <plinth@example.org>".parse().unwrap();
        let mail =
            Mail { to: "ada@example.net".to_owned(), subject: "Invitation".to_owned(), text: "Join us.".to_owned() };
        let [first, second] = [(); 2].map(|()| {
            let text = String::from_utf8(message(&from, &mail).unwrap().formatted()).unwrap();
            let id = text.lines().find_map(|line| line.strip_prefix("Message-ID: <")).unwrap();
            id.strip_suffix("@example.org>").unwrap().to_owned()
        });
        assert_eq!(first.len(), ID_CHARS);
        assert_ne!(first, second);
    }
}
