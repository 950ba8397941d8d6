//! The target access point: it gets the PMK-R1 from its holder, and admits the station that proves it. 802.11-2020 §13.5.2, §13.7.1.

use keytoll_crypto_api::{Crypto, Rng};
use keytoll_engine::Ctx;

use super::elements::{Holders, Parts, REQUEST, RESPONSE, no_mic, signed, unsigned};
use super::station::ptk;
use super::{Agreed, Domain, Failure, PHASE, Pull};
use crate::MacAddr;
use crate::frame::Elements;
use crate::frame::hidden::Hidden;
use crate::frame::rsn::fte::{WrappedGtk, WrappedIgtk};
use crate::frame::rsn::{Fte, Rsne};
use crate::handshake::{GroupKey, GroupKeys, Terms, Transition};
use crate::keys::{Nonce, PmkR1, Ptk, seal_key_data};
use crate::suite::Akm;

/// What a station asks with the first frame.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The key that is needed.
    pub pull: Pull,
    /// What the station has declared.
    pub rsne: Rsne,
    snonce: Nonce,
}

/// It waits for the reassociation request.
#[derive(Debug)]
pub struct AwaitingReassociation {
    domain: Domain,
    terms: Terms,
    holders: Holders,
    pmk_r1: PmkR1,
    ptk: Ptk,
}

impl Asked {
    /// Reads the elements of the first frame, which `station` has sent to the access point `r1kh_id`.
    ///
    /// # Errors
    /// It is of another domain, or an element is missing.
    pub fn read(
        elements: &Elements<'_>,
        domain: &Domain,
        akm: Akm,
        [r1kh_id, station]: [MacAddr; 2],
    ) -> Result<Self, Failure> {
        let parts = Parts::read(elements, akm.mic_len())?;
        if parts.mde != domain.mde {
            return Err(Failure::Mde);
        }
        let &[pmk_r0_name] = &parts.rsne.pmkids[..] else { return Err(Failure::Pmkid) };
        let r0kh_id = parts.fte.r0kh_id.ok_or(Failure::Fte)?.to_vec();
        let pull = Pull { r0kh_id, pmk_r0_name, station, r1kh_id };
        Ok(Self { pull, rsne: parts.rsne, snonce: parts.fte.snonce })
    }

    /// Whether this is the same question.
    pub fn is_again(&self, other: &Self) -> bool {
        self.snonce == other.snonce
    }

    /// Answers with the elements of the second frame.
    ///
    /// # Errors
    /// We have declared no RSNE.
    pub fn answer(
        &self,
        domain: &Domain,
        terms: Terms,
        pmk_r1: PmkR1,
        rng: &mut Rng,
        cx: &mut Ctx<'_>,
    ) -> Result<(AwaitingReassociation, Vec<u8>), Failure> {
        let Pull { r0kh_id, pmk_r0_name, r1kh_id, .. } = &self.pull;
        let holders =
            Holders { anonce: rng.bytes(), snonce: self.snonce, r1kh_id: *r1kh_id, r0kh_id: r0kh_id.clone() };
        cx.crypto.enter(PHASE);
        let ptk = ptk(&terms, &pmk_r1, &holders, cx.crypto);
        let rsne = terms.access_point.naming(*pmk_r0_name).ok_or(Failure::Rsne)?;
        let elements = unsigned(&rsne, domain.mde, &holders.fte(no_mic(&terms)));
        Ok((AwaitingReassociation { domain: domain.clone(), terms, holders, pmk_r1, ptk }, elements))
    }
}

impl AwaitingReassociation {
    /// In the middle of a recorded transition.
    #[cfg(test)]
    pub(super) fn recorded(
        (domain, terms): (&Domain, &Terms),
        holders: &Holders,
        pmk_r1: &PmkR1,
        ptk: &Ptk,
    ) -> Self {
        let (holders, ptk) = (holders.clone(), ptk.clone());
        Self { domain: domain.clone(), terms: terms.clone(), holders, pmk_r1: pmk_r1.clone(), ptk }
    }

    /// Whether management frames of the association to come are protected.
    pub const fn protects_management(&self) -> bool {
        self.terms.group_management.is_some()
    }

    /// Answers the elements of a reassociation request with those of the response, which brings the group keys.
    ///
    /// # Errors
    /// It is of another exchange, or the station does not prove that it has the key.
    pub fn on_request(
        &self,
        elements: &Elements<'_>,
        group: &GroupKeys,
        cx: &mut Ctx<'_>,
    ) -> Result<(Agreed, Vec<u8>), Failure> {
        let Self { domain, terms, holders, pmk_r1, ptk } = self;
        let parts = Parts::read(elements, terms.akm.mic_len())?;
        parts.check_rsne(&terms.station, pmk_r1.name)?;
        if parts.mde != domain.mde {
            return Err(Failure::Mde);
        }
        parts.check_fte(&holders.fte(no_mic(terms)))?;
        cx.crypto.enter(PHASE);
        parts.check_mic(terms, ptk, REQUEST, cx.crypto)?;
        let (response, fte) = self.response(group, cx.crypto)?;
        let transition = Transition { pmk_r1: pmk_r1.clone(), mde: domain.mde.to_bytes(), fte };
        let (terms, ptk) = (terms.clone(), ptk.clone());
        Ok((Agreed { terms, transition, ptk, anonce: holders.anonce, groups: Vec::new() }, response))
    }

    fn response(&self, group: &GroupKeys, crypto: &mut dyn Crypto) -> Result<(Vec<u8>, Vec<u8>), Failure> {
        let Self { domain, terms, holders, pmk_r1, ptk } = self;
        let GroupKeys { gtk, igtk } = group;
        let wrapped = self.wrap(gtk, crypto);
        let gtk = WrappedGtk {
            key_id: gtk.index,
            key_len: gtk.key.len() as u8,
            rsc: gtk.packet_number.to_le_bytes(),
            wrapped: Hidden(&wrapped),
        };
        let wrapped = igtk.as_ref().map(|igtk| (igtk, self.wrap(igtk, crypto)));
        let igtk = wrapped.as_ref().map(|(igtk, wrapped)| {
            let [a, b, c, d, e, f, ..] = igtk.packet_number.to_le_bytes();
            let (key_id, key_len) = (igtk.index.into(), igtk.key.len() as u8);
            WrappedIgtk { key_id, packet_number: [a, b, c, d, e, f], key_len, wrapped: Hidden(wrapped) }
        });
        let rsne = terms.access_point.naming(pmk_r1.name).ok_or(Failure::Rsne)?;
        let fte = Fte { gtk: Some(gtk), igtk, ..holders.fte(no_mic(terms)) };
        Ok(signed(terms, ptk, RESPONSE, (&rsne, domain.mde, fte), crypto))
    }

    fn wrap(&self, group: &GroupKey, crypto: &mut dyn Crypto) -> Vec<u8> {
        seal_key_data(self.terms.mic(), &self.ptk.kek, &[0; 16], &group.key, crypto)
    }
}
