//! RSNE, MDE and FTE in the messages of a fast transition, and the MIC over them. 802.11-2020 §13.8.

use keytoll_crypto_api::Crypto;

use super::Failure;
use crate::MacAddr;
use crate::frame::rsn::{Fte, Mde, Rsne};
use crate::frame::{Element, ElementId, Elements};
use crate::handshake::{Declared, Terms};
use crate::keys::{KeyName, Ptk, mic};

/// The transaction sequence numbers in the MIC, as if the two frames of reassociation were the fifth and sixth: 802.11-2020 §13.8.4.
pub(super) const REQUEST: u8 = 5;
pub(super) const RESPONSE: u8 = 6;
/// Of the FTE with its id and length: Element ID, Length, MIC Control.
const MIC_AT: usize = 4;
/// RSNE, MDE and FTE.
const COVERED: u8 = 3;

/// The elements of a message.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    pub(super) rsne: Rsne,
    pub(super) mde: Mde,
    pub(super) fte: Fte<'a>,
    /// As they are on the air, with id and length.
    raw: [Vec<u8>; 3],
}

impl<'a> Parts<'a> {
    pub(super) fn read(elements: &Elements<'a>, mic_len: usize) -> Result<Self, Failure> {
        let rsne = elements.find(ElementId::RSN).ok_or(Failure::Rsne)?;
        let mde = elements.find(ElementId::MOBILITY_DOMAIN).ok_or(Failure::Mde)?;
        let fte = elements.find(ElementId::FAST_TRANSITION).ok_or(Failure::Fte)?;
        let raw =
            [(ElementId::RSN, rsne), (ElementId::MOBILITY_DOMAIN, mde), (ElementId::FAST_TRANSITION, fte)];
        Ok(Self {
            rsne: Rsne::read(rsne)?,
            mde: Mde::read(mde)?,
            fte: Fte::read(fte, mic_len)?,
            raw: raw.map(|(id, body)| Element { id, body }.to_bytes()),
        })
    }

    // 802.11-2020 §13.8.2 to §13.8.5: the RSNE is that of the beacon or of the association request, but for the name of the key.
    /// Whether the RSNE is what a side has declared, and names this key.
    pub(super) fn check_rsne(&self, declared: &Declared, name: KeyName) -> Result<(), Failure> {
        if self.rsne.pmkids != [name] {
            return Err(Failure::Pmkid);
        }
        if declared.naming(name).as_ref() == Some(&self.rsne) { Ok(()) } else { Err(Failure::Rsne) }
    }

    /// Whether nonces and key holders are these.
    pub(super) fn check_fte(&self, expected: &Fte<'_>) -> Result<(), Failure> {
        let of = |fte: &Fte<'_>| (fte.anonce, fte.snonce, fte.r1kh_id, fte.r0kh_id.map(<[u8]>::to_vec));
        if of(&self.fte) == of(expected) { Ok(()) } else { Err(Failure::Fte) }
    }

    /// Whether the MIC is right, which covers these elements and no others.
    pub(super) fn check_mic(
        &self,
        terms: &Terms,
        ptk: &Ptk,
        sequence: u8,
        crypto: &mut dyn Crypto,
    ) -> Result<(), Failure> {
        if self.fte.element_count != COVERED {
            return Err(Failure::Mic);
        }
        let [rsne, mde, fte] = &self.raw;
        let cleared = without_mic(fte, terms.akm.mic_len());
        let right = covered(terms, ptk, sequence, [rsne, mde, &cleared], crypto);
        if right.matches(self.fte.mic) { Ok(()) } else { Err(Failure::Mic) }
    }

    /// The FTE as it is on the air.
    pub(super) fn fte_bytes(&self) -> Vec<u8> {
        self.raw[2].clone()
    }
}

/// An FTE of zeros.
pub(super) const fn empty(mic: &[u8]) -> Fte<'_> {
    Fte {
        rsnxe_used: false,
        element_count: 0,
        mic,
        anonce: [0; 32],
        snonce: [0; 32],
        r1kh_id: None,
        r0kh_id: None,
        gtk: None,
        igtk: None,
    }
}

fn without_mic(fte: &[u8], mic_len: usize) -> Vec<u8> {
    let mut cleared = fte.to_vec();
    cleared[MIC_AT..MIC_AT + mic_len].fill(0);
    cleared
}

// 802.11-2020 §13.8.4, §13.8.5: the MIC is over station, target access point, sequence number, RSNE, MDE, and the FTE without it.
fn covered(
    terms: &Terms,
    ptk: &Ptk,
    sequence: u8,
    [rsne, mde, fte]: [&[u8]; 3],
    crypto: &mut dyn Crypto,
) -> keytoll_crypto_api::Digest {
    let parts: [&[u8]; 6] = [&terms.spa, &terms.aa, &[sequence], rsne, mde, fte];
    mic(terms.mic(), &ptk.kck, &parts, crypto)
}

/// RSNE, MDE and FTE of a message without a MIC.
pub(super) fn unsigned(rsne: &Rsne, mde: Mde, fte: &Fte<'_>) -> Vec<u8> {
    [rsne.to_bytes(), mde.to_bytes(), fte.to_bytes()].concat()
}

/// The same with a MIC; gives the FTE apart, too.
pub(super) fn signed(
    terms: &Terms,
    ptk: &Ptk,
    sequence: u8,
    (rsne, mde, fte): (&Rsne, Mde, Fte<'_>),
    crypto: &mut dyn Crypto,
) -> (Vec<u8>, Vec<u8>) {
    let (rsne, mde) = (rsne.to_bytes(), mde.to_bytes());
    let mut fte = Fte { element_count: COVERED, ..fte }.to_bytes();
    let mic = covered(terms, ptk, sequence, [&rsne, &mde, &fte], crypto);
    fte[MIC_AT..MIC_AT + mic.len()].copy_from_slice(&mic);
    ([&rsne[..], &mde, &fte].concat(), fte)
}

/// What both sides know when the nonces are there.
#[derive(Debug, Clone)]
pub(super) struct Holders {
    pub(super) anonce: crate::keys::Nonce,
    pub(super) snonce: crate::keys::Nonce,
    pub(super) r1kh_id: MacAddr,
    pub(super) r0kh_id: Vec<u8>,
}

impl Holders {
    /// The FTE that says so.
    pub(super) fn fte<'a>(&'a self, mic: &'a [u8]) -> Fte<'a> {
        Fte {
            anonce: self.anonce,
            snonce: self.snonce,
            r1kh_id: Some(self.r1kh_id),
            r0kh_id: Some(&self.r0kh_id),
            ..empty(mic)
        }
    }
}

/// A MIC of zeros.
pub(super) fn no_mic(terms: &Terms) -> &'static [u8] {
    &[0; 24][..terms.akm.mic_len()]
}
