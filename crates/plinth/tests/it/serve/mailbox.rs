//! A mail server that keeps the mails that it receives.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tokio::time::{sleep, timeout};

/// A mail server that runs until the process ends.
pub(crate) struct Mailbox {
    address: SocketAddr,
    mails: Arc<Mutex<Vec<String>>>,
}

impl Mailbox {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mails = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&mails);
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                thread::spawn(move || receive(&socket, &kept));
            }
        });
        Self { address, mails }
    }

    pub(crate) fn url(&self) -> String {
        format!("smtp://{}", self.address)
    }

    pub(crate) fn count(&self) -> usize {
        self.mails.lock().unwrap().len()
    }

    /// Waits until a mail with this text arrives, removes it and returns it.
    pub(crate) async fn wait_for(&self, text: &str) -> String {
        let waiting = async {
            loop {
                {
                    let mut mails = self.mails.lock().unwrap();
                    if let Some(at) = mails.iter().position(|mail| mail.contains(text)) {
                        return mails.remove(at);
                    }
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(Duration::from_mins(1), waiting).await.unwrap_or_else(|_late| panic!("no mail with {text}"))
    }
}

/// Returns the path of the link in a mail.
pub(crate) fn link_in(mail: &str, folder: &str) -> String {
    let at = mail.find(folder).unwrap_or_else(|| panic!("no {folder} in {mail}"));
    mail[at..].split_whitespace().next().unwrap().to_owned()
}

fn receive(socket: &TcpStream, mails: &Mutex<Vec<String>>) {
    let mut out = socket;
    let say = |out: &mut &TcpStream, line: &str| out.write_all(format!("{line}\r\n").as_bytes()).is_ok();
    if !say(&mut out, "220 mailbox") {
        return;
    }
    let mut lines = BufReader::new(socket).lines().map_while(Result::ok);
    while let Some(line) = lines.next() {
        if line == "DATA" {
            say(&mut out, "354 go on");
            let mail: Vec<String> = lines.by_ref().take_while(|line| line != ".").collect();
            // Decodes the line breaks and equals signs of the quoted-printable encoding.
            mails.lock().unwrap().push(mail.join("\n").replace("=\n", "").replace("=3D", "="));
        }
        say(&mut out, "250 ok");
    }
}
