//! Whole conversations: success of all methods, failures, and hostile packets.

mod hostile;
mod methods;
mod negotiation;
mod peap;
mod plain;
mod tls;
mod ttls;

use std::collections::BTreeMap;
use std::sync::Arc;

use keytoll_crypto_api::Secret;

use crate::methods::gtc::{GtcPeer, GtcServer};
use crate::methods::md5::{Md5Peer, Md5Server};
use crate::methods::mschapv2::{MschapV2Peer, MschapV2Server};
use crate::{Passwords, PeerOffer, ServerOffer};

const USER: &str = "alice@lab";

fn secret(text: &str) -> Secret {
    Secret::from(text.as_bytes())
}

fn users() -> Arc<dyn Passwords> {
    Arc::new(BTreeMap::from([(USER.as_bytes().to_vec(), secret("pässword"))]))
}

fn md5_peer(password: &str) -> Arc<dyn PeerOffer> {
    Arc::new(Md5Peer { password: secret(password) })
}

fn gtc_peer(password: &str) -> Arc<dyn PeerOffer> {
    Arc::new(GtcPeer { password: secret(password) })
}

fn mschapv2_peer(password: &str) -> Arc<dyn PeerOffer> {
    Arc::new(MschapV2Peer { password: secret(password), name: None })
}

fn md5_server() -> Arc<dyn ServerOffer> {
    Arc::new(Md5Server { passwords: users(), name: b"aaa".to_vec() })
}

fn gtc_server() -> Arc<dyn ServerOffer> {
    Arc::new(GtcServer { passwords: users(), prompt: b"Password: ".to_vec() })
}

fn mschapv2_server(retries: u8) -> Arc<dyn ServerOffer> {
    Arc::new(MschapV2Server { passwords: users(), name: b"aaa".to_vec(), retries })
}
