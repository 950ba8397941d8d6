//! New keys for the pair of SAs. RFC 7402 §6.8 to §6.10.

use keytoll_crypto_api::{KeyPair, about};

use super::{KeyAgreement, Standing, rekey_at};
use crate::association::Core;
use crate::endpoint::Env;
use crate::esp;
use crate::event::{ChildSa, Event};
use crate::number::GroupId;
use crate::protection::Doubt;
use crate::wire::esp::EspInfo;
use crate::wire::key_exchange::DiffieHellman;

/// Our part of a rekeying.
#[derive(Debug)]
pub(super) struct Asked {
    /// The SPI that we will receive on.
    pub(super) spi: u32,
    keymat_index: usize,
    pub(super) key: Option<KeyPair>,
}

/// The peer's part of a rekeying.
#[derive(Debug)]
pub(super) struct Offered {
    /// The SPI that the peer will receive on.
    spi: u32,
    keymat_index: usize,
    public: Option<Vec<u8>>,
}

impl Standing {
    /// What ESP_INFO says while nothing is rekeyed.
    pub(super) const fn esp_info(&self) -> EspInfo {
        EspInfo { keymat_index: 0, old_spi: self.inbound_spi, new_spi: self.inbound_spi }
    }

    /// Our part of a rekeying, begun by us or by the peer.
    pub(super) fn ask(&self, core: &mut Core, env: &mut Env<'_, '_>) -> (Asked, EspInfo) {
        let theirs = self.offered.as_deref();
        let has_new_key = theirs.is_some_and(|theirs| theirs.public.is_some());
        let wants_new_key = has_new_key || env.shared.config.rekey_with_new_keys;
        let key = self.agreement.as_ref().filter(|_| wants_new_key).map(|agreement| {
            let (group, rng) = (agreement.ours.private.group, &mut env.shared.rng);
            about(env.cx.crypto, "key agreement", |crypto| crypto.generate(group, rng))
        });
        // RFC 7402 §6.9: a new key agreement begins at 0, otherwise the greater index of both counts.
        let keymat_index = match key {
            Some(_) => 0,
            None => self.keymat.drawn().max(theirs.map_or(0, |theirs| theirs.keymat_index)),
        };
        let spi = core.take_spi(env);
        let info = EspInfo {
            keymat_index: u16::try_from(keymat_index).unwrap_or(u16::MAX),
            old_spi: self.inbound_spi,
            new_spi: spi,
        };
        (Asked { spi, keymat_index, key }, info)
    }

    /// Takes the peer's part; the owner of `self` answers it.
    pub(super) fn offer(
        &mut self,
        info: &EspInfo,
        exchanged: Option<&DiffieHellman<'_>>,
    ) -> Result<(), Doubt> {
        if info.old_spi != self.outbound_spi || info.new_spi <= 255 {
            return Err("ESP_INFO of another SA");
        }
        if let Some(exchanged) = exchanged {
            let ours = self.agreement.as_ref().ok_or("DIFFIE_HELLMAN in a diet exchange")?;
            // RFC 7402 §6.9: the group stays, and the index is 0.
            if GroupId::of(ours.ours.private.group) != Some(exchanged.group) || info.keymat_index != 0 {
                return Err("DIFFIE_HELLMAN of another group");
            }
        } else if info.keymat_index != 0 && usize::from(info.keymat_index) < self.keymat.drawn() {
            return Err("KEYMAT index that was used");
        } else if usize::from(info.keymat_index) > self.keymat.end() {
            return Err("KEYMAT index beyond its end");
        }
        self.offered = Some(Box::new(Offered {
            spi: info.new_spi,
            keymat_index: info.keymat_index.into(),
            public: exchanged.map(|exchanged| exchanged.public.to_vec()),
        }));
        Ok(())
    }

    /// Both parts are there: the new pair.
    pub(super) fn finish_rekey(
        &mut self,
        (asked, offered): (Asked, Offered),
        is_peer_ready: bool,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) {
        let spis = (asked.spi, offered.spi);
        let child =
            self.draw_again(asked, offered, core, env).map(|child| ChildSa { is_peer_ready, ..child });
        let Some(child) = child else {
            core.give_back(spis.0, env);
            self.is_used_up = true;
            return env.discard("rekeying that gives no keys");
        };
        let old = std::mem::replace(&mut self.inbound_spi, spis.0);
        self.outbound_spi = spis.1;
        self.rekey_at = rekey_at(env);
        child.reveal(env.cx.trace);
        env.emit(Event::ChildRekeyed { association: core.id, old, new: Box::new(child) });
        self.retire(old, core, env);
    }

    fn draw_again(
        &mut self,
        asked: Asked,
        offered: Offered,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> Option<ChildSa> {
        let crypto = &mut *env.cx.crypto;
        let spis = (asked.spi, offered.spi);
        let (ours, theirs) = (asked.key, offered.public);
        if ours.is_none() && theirs.is_none() {
            let index = asked.keymat_index.max(offered.keymat_index);
            self.keymat.skip_to(index, crypto)?;
            return esp::draw(&mut self.keymat, self.esp_suite, spis, core, crypto);
        }
        // RFC 7402 §6.10: of the side without a new key the one before counts.
        let before = self.agreement.as_ref()?;
        let agreement = KeyAgreement {
            rhash: before.rhash,
            salt: before.salt.clone(),
            ours: ours.unwrap_or_else(|| before.ours.clone()),
            theirs: theirs.unwrap_or_else(|| before.theirs.clone()),
        };
        let leniency = env.shared.config.leniency;
        let mut keymat = agreement.keymat([core.local, core.peer], leniency, crypto)?;
        let child = esp::draw(&mut keymat, self.esp_suite, spis, core, crypto)?;
        (self.keymat, self.agreement) = (keymat, Some(Box::new(agreement)));
        Some(child)
    }
}
