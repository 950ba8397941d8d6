//! The station: it has the PMK-R0, and proves it to another access point of the domain. 802.11-2020 §13.5.2, §13.7.1.

use keytoll_crypto_api::{Crypto, Rng, Secret};
use keytoll_engine::Ctx;

use super::elements::{Holders, Parts, REQUEST, RESPONSE, empty, no_mic, signed, unsigned};
use super::{Agreed, Failure, PHASE};
use crate::frame::Elements;
use crate::frame::rsn::fte::{WrappedGtk, WrappedIgtk};
use crate::frame::rsn::{Fte, Mde};
use crate::handshake::{GroupKey, Master, Terms, Transition};
use crate::keys::{Nonce, PmkR0, PmkR1, Ptk, open_key_data};
use crate::suite::Cipher;

/// What the first association in a domain leaves with a station.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// The domain.
    pub mde: Mde,
    /// Who holds the PMK-R0 besides.
    pub r0kh_id: Vec<u8>,
    /// The key of the first level.
    pub pmk_r0: PmkR0,
}

/// It waits for the second frame.
#[derive(Debug)]
pub struct AwaitingAnswer {
    membership: Membership,
    terms: Terms,
    snonce: Nonce,
}

/// It waits for the response to its reassociation.
#[derive(Debug)]
pub struct AwaitingReassociation {
    mde: Mde,
    terms: Terms,
    holders: Holders,
    pmk_r1: PmkR1,
    ptk: Ptk,
}

/// Begins, with the elements of the first frame. `terms` are those of the association to come.
///
/// # Errors
/// We have declared no RSNE.
pub fn begin(
    membership: Membership,
    terms: Terms,
    rng: &mut Rng,
) -> Result<(AwaitingAnswer, Vec<u8>), Failure> {
    let rsne = terms.station.naming(membership.pmk_r0.name).ok_or(Failure::Rsne)?;
    let snonce = rng.bytes();
    let r0kh_id = Some(&membership.r0kh_id[..]);
    let elements = unsigned(&rsne, membership.mde, &Fte { snonce, r0kh_id, ..empty(no_mic(&terms)) });
    Ok((AwaitingAnswer { membership, terms, snonce }, elements))
}

impl AwaitingAnswer {
    /// Answers the second frame with the elements of a reassociation request.
    ///
    /// # Errors
    /// It is of another exchange, key or domain.
    pub fn on_answer(
        &self,
        elements: &Elements<'_>,
        cx: &mut Ctx<'_>,
    ) -> Result<(AwaitingReassociation, Vec<u8>), Failure> {
        let Self { membership: Membership { mde, r0kh_id, pmk_r0 }, terms, snonce } = self;
        let parts = Parts::read(elements, terms.akm.mic_len())?;
        parts.check_rsne(&terms.access_point, pmk_r0.name)?;
        if parts.mde != *mde {
            return Err(Failure::Mde);
        }
        let r1kh_id = parts.fte.r1kh_id.ok_or(Failure::Fte)?;
        let holders =
            Holders { anonce: parts.fte.anonce, snonce: *snonce, r1kh_id, r0kh_id: r0kh_id.clone() };
        parts.check_fte(&holders.fte(no_mic(terms)))?;
        cx.crypto.enter(PHASE);
        let pmk_r1 = pmk_r0.r1(terms.akm, r1kh_id, terms.spa, cx.crypto);
        let ptk = ptk(terms, &pmk_r1, &holders, cx.crypto);
        let rsne = terms.station.naming(pmk_r1.name).ok_or(Failure::Rsne)?;
        let message = (&rsne, *mde, holders.fte(no_mic(terms)));
        let (request, _) = signed(terms, &ptk, REQUEST, message, cx.crypto);
        let wait = AwaitingReassociation { mde: *mde, terms: terms.clone(), holders, pmk_r1, ptk };
        Ok((wait, request))
    }
}

/// The PTK of both sides.
pub(super) fn ptk(terms: &Terms, pmk_r1: &PmkR1, holders: &Holders, crypto: &mut dyn Crypto) -> Ptk {
    let transition = Transition { pmk_r1: pmk_r1.clone(), mde: Vec::new(), fte: Vec::new() };
    terms.ptk(&Master::Transition(transition), (holders.anonce, holders.snonce), crypto)
}

impl AwaitingReassociation {
    /// In the middle of a recorded transition.
    #[cfg(test)]
    pub(super) fn recorded(
        (mde, terms): (Mde, &Terms),
        holders: &Holders,
        pmk_r1: &PmkR1,
        ptk: &Ptk,
    ) -> Self {
        let (holders, ptk) = (holders.clone(), ptk.clone());
        Self { mde, terms: terms.clone(), holders, pmk_r1: pmk_r1.clone(), ptk }
    }

    /// Takes the elements of the reassociation response.
    ///
    /// # Errors
    /// It is of another exchange, or the access point does not prove that it has the key.
    pub fn on_response(&self, elements: &Elements<'_>, cx: &mut Ctx<'_>) -> Result<Agreed, Failure> {
        let Self { mde, terms, holders, pmk_r1, ptk } = self;
        let parts = Parts::read(elements, terms.akm.mic_len())?;
        parts.check_rsne(&terms.access_point, pmk_r1.name)?;
        if parts.mde != *mde {
            return Err(Failure::Mde);
        }
        parts.check_fte(&holders.fte(no_mic(terms)))?;
        cx.crypto.enter(PHASE);
        parts.check_mic(terms, ptk, RESPONSE, cx.crypto)?;
        let groups = self.groups(&parts.fte, cx.crypto)?;
        let fte = parts.fte_bytes();
        let transition = Transition { pmk_r1: pmk_r1.clone(), mde: mde.to_bytes(), fte };
        Ok(Agreed { terms: terms.clone(), transition, ptk: ptk.clone(), anonce: holders.anonce, groups })
    }

    fn groups(&self, fte: &Fte<'_>, crypto: &mut dyn Crypto) -> Result<Vec<GroupKey>, Failure> {
        let WrappedGtk { key_id, rsc, wrapped, .. } = fte.gtk.ok_or(Failure::GroupKey)?;
        let cipher = self.terms.group;
        let key = self.unwrap(cipher, wrapped.0, crypto)?;
        let mut groups =
            vec![GroupKey { cipher, index: key_id, key, packet_number: u64::from_le_bytes(rsc) }];
        if let Some(cipher) = self.terms.group_management {
            let WrappedIgtk { key_id, packet_number, wrapped, .. } = fte.igtk.ok_or(Failure::GroupKey)?;
            let index = u8::try_from(key_id).map_err(|_| Failure::GroupKey)?;
            let key = self.unwrap(cipher, wrapped.0, crypto)?;
            let [a, b, c, d, e, f] = packet_number;
            let packet_number = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
            groups.push(GroupKey { cipher, index, key, packet_number });
        }
        if groups.iter().all(GroupKey::is_usable) { Ok(groups) } else { Err(Failure::GroupKey) }
    }

    // 802.11-2020 §13.8.5: group keys are wrapped under the KEK, and padded as key data are.
    fn unwrap(&self, cipher: Cipher, wrapped: &[u8], crypto: &mut dyn Crypto) -> Result<Secret, Failure> {
        let opened = open_key_data(self.terms.mic(), &self.ptk.kek, &[0; 16], wrapped, crypto);
        let opened = opened.map_err(|_| Failure::GroupKey)?;
        opened.get(..cipher.key_len()).map(Secret::from).ok_or(Failure::GroupKey)
    }
}
