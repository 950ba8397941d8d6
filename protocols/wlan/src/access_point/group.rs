//! The keys of the group, under which an access point sends to all stations.

use keytoll_crypto_api::{Crypto, Rng, Secret};

use super::Config;
use crate::bss::{Protected, Rsn, Security, protected, wep_key};
use crate::cipher::wep::Iv;
use crate::cipher::{Sender, Side};
use crate::dot1x::WepKey;
use crate::frame::header::{DataHeader, Header};
use crate::handshake::{GroupKey, GroupKeys};
use crate::suite::Cipher;

/// Indexes of the keys in turn: 802.11-2020 §12.7.1.4 (GTK: 1 and 2), §12.7.1.5 (IGTK: 4 and 5).
const GTK_FIRST: u8 = 1;
const IGTK_FIRST: u8 = 4;

/// The keys of the group; none in a network without keys.
#[derive(Debug)]
pub(super) struct Group {
    rsn: Option<Rsn>,
    /// 0 or 1: which of two indexes the keys have now.
    turn: u8,
    keys: Option<GroupKeys>,
    sender: Option<Sender>,
    /// Frames sent under the key.
    sent: u64,
    is_open: bool,
}

impl Group {
    pub(super) fn new(config: &Config, rng: &mut Rng) -> Self {
        let (rsn, is_open) = (config.security.rsn(), config.security == Security::Open);
        let mut group = Self { rsn, turn: 1, keys: None, sender: None, sent: 0, is_open };
        group.change(rng);
        if let (Security::SharedKey(cipher), Some(shared)) = (config.security, &config.shared_key) {
            group.install_wep(cipher, &wep_key(false, shared), rng);
        }
        group
    }

    /// New keys, in the other of two places.
    pub(super) fn change(&mut self, rng: &mut Rng) {
        let Some(rsn) = self.rsn else { return };
        self.turn ^= 1;
        let gtk = key(rsn.group, GTK_FIRST + self.turn, rng);
        let can_protect = rsn.management != Protected::Never;
        let igtk = can_protect.then(|| key(Cipher::BipCmac128, IGTK_FIRST + self.turn, rng));
        self.sender = Sender::new(gtk.cipher, &gtk.key, gtk.index, Side::Authenticator, Iv::random(rng)).ok();
        (self.keys, self.sent) = (Some(GroupKeys { gtk, igtk }), 0);
    }

    /// A key of WEP from now on.
    pub(super) fn install_wep(&mut self, cipher: Cipher, key: &WepKey, rng: &mut Rng) {
        self.sender = Sender::new(cipher, &key.key, key.index, Side::Authenticator, Iv::random(rng)).ok();
    }

    /// What a handshake brings a station: with the IGTK, if its management frames are protected.
    pub(super) fn keys(&self, protects_management: bool) -> Option<GroupKeys> {
        let GroupKeys { gtk, igtk } = self.keys.clone()?;
        let gtk = GroupKey { packet_number: self.sent, ..gtk };
        Some(GroupKeys { gtk, igtk: igtk.filter(|_| protects_management) })
    }

    /// Protects a data frame to all; none if it cannot be.
    pub(super) fn seal(
        &mut self,
        header: &mut DataHeader,
        body: &mut Vec<u8>,
        crypto: &mut dyn Crypto,
    ) -> Option<()> {
        let Some(sender) = &mut self.sender else { return self.is_open.then_some(()) };
        header.flags = protected(header.flags);
        self.sent += 1;
        sender.seal(&Header::Data(*header).to_bytes(), body, crypto).ok()
    }
}

fn key(cipher: Cipher, index: u8, rng: &mut Rng) -> GroupKey {
    let mut key = vec![0; cipher.key_len()];
    rng.fill(&mut key);
    GroupKey { cipher, index, key: Secret::new(key), packet_number: 0 }
}
