//! Secrets of a session for captures, as lines of an NSS key log: draft-ietf-tls-keylogfile §2.

use keytoll_engine::trace::Revealed;
use rustls::KeyLog;

use crate::lent::lent;

/// Reveals secrets to the trace of the current call, if it wants them.
#[derive(Debug)]
pub(crate) struct LentKeys;

impl KeyLog for LentKeys {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        // rustls does not always ask `will_log` first.
        lent(|lent| {
            if lent.trace.wants_keys() {
                lent.trace.reveal(revealed(label, client_random, secret));
            }
        });
    }

    fn will_log(&self, _label: &str) -> bool {
        lent(|lent| lent.trace.wants_keys())
    }
}

fn revealed(label: &str, client_random: &[u8], secret: &[u8]) -> Revealed {
    let client_random = client_random.try_into().expect("a random has 32 bytes in every version of TLS");
    Revealed::TlsSecret { label: label.into(), client_random, secret: secret.into() }
}
