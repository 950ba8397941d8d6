//! The keys of one association, as one side uses them.

use std::collections::BTreeMap;

use keytoll_crypto_api::{Crypto, Rng};
use keytoll_engine::{Ctx, Time};

use super::Chains;
use crate::cipher::wep::Iv;
use crate::cipher::{BadKey, CannotSeal, Receiver, Refused, Sender, Side, bip, key_id};
use crate::dot1x::WepKey;
use crate::frame::Header;
use crate::handshake::{GroupKey, PairwiseKey};
use crate::suite::Cipher;

/// The keys of one association.
#[derive(Debug, Default)]
pub(crate) struct Protection {
    pairwise: Option<Pairwise>,
    /// Whether a handshake or a fast transition made the pairwise key.
    is_of_handshake: bool,
    /// Keys of groups by their key ID: only a station receives under them.
    groups: BTreeMap<u8, Receiver>,
    /// The key of management frames to groups.
    management: Option<bip::Receiver>,
}

/// The keys of frames between two.
#[derive(Debug)]
enum Pairwise {
    /// They change when others are installed.
    Installed(Box<(Sender, Receiver)>),
    /// They change by themselves.
    Chains(Box<Chains>),
}

const fn other(side: Side) -> Side {
    match side {
        Side::Authenticator => Side::Supplicant,
        Side::Supplicant => Side::Authenticator,
    }
}

impl Protection {
    /// Whether there is a pairwise key.
    pub(crate) const fn is_there(&self) -> bool {
        self.pairwise.is_some()
    }

    /// Whether there is a pairwise key of a robust security network.
    pub(crate) const fn is_of_handshake(&self) -> bool {
        self.is_of_handshake
    }

    /// Sends as `ours`, and receives, under a pairwise key from now on.
    pub(crate) fn install(&mut self, ours: Side, key: &PairwiseKey, rng: &mut Rng) -> Result<(), BadKey> {
        let PairwiseKey { cipher, tk, index } = key;
        self.pairwise = Some(pair((*cipher, tk, *index), ours, rng)?);
        self.is_of_handshake = true;
        Ok(())
    }

    /// Sends and receives under chains of keys from now on.
    pub(crate) fn install_chains(&mut self, chains: Chains) {
        self.pairwise = Some(Pairwise::Chains(Box::new(chains)));
    }

    /// When its keys change by themselves.
    pub(crate) fn next_at(&self) -> Option<Time> {
        match self.pairwise.as_ref()? {
            Pairwise::Installed(_) => None,
            Pairwise::Chains(chains) => Some(chains.next_at()),
        }
    }

    /// The chains of keys that change by themselves.
    pub(crate) fn chains(&mut self) -> Option<&mut Chains> {
        match &mut self.pairwise {
            Some(Pairwise::Chains(chains)) => Some(chains),
            _ => None,
        }
    }

    /// The same with a key of WEP; one of the group is received under.
    pub(crate) fn install_wep(
        &mut self,
        ours: Side,
        cipher: Cipher,
        WepKey { unicast, index, key }: &WepKey,
        rng: &mut Rng,
    ) -> Result<(), BadKey> {
        if *unicast {
            self.pairwise = Some(pair((cipher, key, *index), ours, rng)?);
        } else {
            self.groups.insert(*index, Receiver::new(cipher, key, *index, other(ours), 0)?);
        }
        Ok(())
    }

    /// A station receives under a group key from now on.
    pub(crate) fn install_group(&mut self, group: &GroupKey) -> Result<(), BadKey> {
        let GroupKey { cipher, index, key, packet_number } = group;
        if cipher.protects_management() {
            self.management = Some(bip::Receiver::new(*cipher, key, (*index).into(), *packet_number)?);
        } else {
            let receiver = Receiver::new(*cipher, key, *index, Side::Authenticator, *packet_number)?;
            self.groups.insert(*index, receiver);
        }
        Ok(())
    }

    /// Protects a frame to the peer; none without a key.
    pub(crate) fn seal(
        &mut self,
        header: &Header,
        body: &mut Vec<u8>,
        crypto: &mut dyn Crypto,
    ) -> Option<Result<(), CannotSeal>> {
        Some(match self.pairwise.as_mut()? {
            Pairwise::Installed(pair) => pair.0.seal(&header.to_bytes(), body, crypto),
            Pairwise::Chains(chains) => {
                chains.seal(body, crypto);
                Ok(())
            }
        })
    }

    /// Opens a protected frame.
    pub(crate) fn open(
        &mut self,
        is_to_group: bool,
        header: &Header,
        body: &mut Vec<u8>,
        cx: &mut Ctx<'_>,
    ) -> Result<(), Refused> {
        let receiver = match &mut self.pairwise {
            Some(Pairwise::Chains(chains)) => return chains.open(is_to_group, body, cx),
            _ if is_to_group => key_id(body).and_then(|id| self.groups.get_mut(&id)),
            Some(Pairwise::Installed(pair)) => Some(&mut pair.1),
            None => None,
        };
        receiver.ok_or(Refused::KeyId)?.open(&header.to_bytes(), body, cx.crypto)
    }

    /// Checks a management frame to a group, and removes what protects it.
    pub(crate) fn check(
        &mut self,
        header: &Header,
        body: &mut Vec<u8>,
        crypto: &mut dyn Crypto,
    ) -> Result<(), Refused> {
        self.management.as_mut().ok_or(Refused::KeyId)?.open(&header.to_bytes(), body, crypto)
    }
}

fn pair(
    (cipher, key, index): (Cipher, &keytoll_crypto_api::Secret, u8),
    ours: Side,
    rng: &mut Rng,
) -> Result<Pairwise, BadKey> {
    let sender = Sender::new(cipher, key, index, ours, Iv::random(rng))?;
    let receiver = Receiver::new(cipher, key, index, other(ours), 0)?;
    Ok(Pairwise::Installed(Box::new((sender, receiver))))
}
