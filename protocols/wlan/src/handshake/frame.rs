//! EAPOL-Key frames as both sides read and write them under their terms.

use keytoll_crypto_api::{Crypto, Secret};

use super::terms::{Declared, Master, Terms, Transition};
use super::{Generation, Reason, Refused};
use crate::eapol::{KeyData, KeyInformation as I, RsnKey, Signed};
use crate::frame::element::ElementId;
use crate::frame::rsn::Rsne;
use crate::keys::{Ptk, mic, open_key_data, verify_mic};

/// What a frame is, by its key information.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Message1,
    /// Message 2 or 4, which their wait tells apart.
    Answer,
    Message3,
    Group1,
    Group2,
    Request,
}

impl Kind {
    // 802.11-2020 §12.7.6.2 to §12.7.7.3: Key Ack is set in what the authenticator sends, Key Type in the 4-way handshake.
    pub(super) const fn of(information: I) -> Option<Self> {
        let (pairwise, mic) = (information.has(I::PAIRWISE), information.has(I::MIC));
        if information.has(I::SMK) {
            return None;
        }
        if information.has(I::REQUEST) {
            return if mic && !information.has(I::ACK) { Some(Self::Request) } else { None };
        }
        match (information.has(I::ACK), pairwise, mic) {
            (true, true, false) => Some(Self::Message1),
            (true, true, true) => Some(Self::Message3),
            (true, false, true) => Some(Self::Group1),
            (false, true, true) => Some(Self::Answer),
            (false, false, true) => Some(Self::Group2),
            (_, _, false) => None,
        }
    }
}

impl Terms {
    /// An empty frame with these bits.
    pub(super) fn frame(&self, bits: &[I], replay_counter: u64) -> RsnKey<'static> {
        RsnKey {
            descriptor: self.descriptor(),
            information: self.information(bits),
            key_len: 0,
            replay_counter,
            nonce: [0; 32],
            iv: [0; 16],
            rsc: [0; 8],
            key_data: &[],
        }
    }

    /// Reads a PDU that is a frame under these terms.
    pub(crate) fn read<'a>(&self, pdu: &'a [u8]) -> Result<(RsnKey<'a>, Signed<'a>), Refused> {
        let (frame, signed) = RsnKey::read(pdu, self.mic().mic_len())?;
        if frame.descriptor != self.descriptor() {
            return Err(Refused::Descriptor);
        }
        if frame.information.version() != self.information(&[]).version() {
            return Err(Refused::Version);
        }
        Ok((frame, signed))
    }

    /// The PDU of a frame without a MIC.
    pub(super) fn unsigned(&self, frame: &RsnKey<'_>) -> Vec<u8> {
        frame.write(self.eapol_version, self.mic().mic_len()).unsigned()
    }

    /// The PDU of a frame with its MIC.
    pub(super) fn signed(&self, frame: &RsnKey<'_>, ptk: &Ptk, crypto: &mut dyn Crypto) -> Vec<u8> {
        let unsigned = frame.write(self.eapol_version, self.mic().mic_len());
        let mic = mic(self.mic(), &ptk.kck, &[unsigned.covered()], crypto);
        unsigned.signed(&mic)
    }

    /// Whether the MIC is right under this PTK.
    pub(crate) fn verify(
        &self,
        signed: &Signed<'_>,
        ptk: &Ptk,
        crypto: &mut dyn Crypto,
    ) -> Result<(), Refused> {
        verify_mic(self.mic(), &ptk.kck, &[&signed.covered()], signed.mic(), crypto).map_err(|_| Refused::Mic)
    }

    /// The key data of a frame of the authenticator in the clear.
    // 802.11-2020 §12.7.2: what is not encrypted contains no keys; whoever takes one from there takes one of anybody.
    pub(crate) fn open(
        &self,
        frame: &RsnKey<'_>,
        ptk: &Ptk,
        crypto: &mut dyn Crypto,
    ) -> Result<Secret, Refused> {
        if self.generation == Generation::Rsn && !frame.information.has(I::ENCRYPTED) {
            return Err(Refused::KeyData);
        }
        open_key_data(self.mic(), &ptk.kek, &frame.iv, frame.key_data, crypto).map_err(|_| Refused::KeyData)
    }
}

/// What a side repeats of its elements in message 2 or 3.
// 802.11-2020 §12.7.6.3, §12.7.6.4: with fast transition the RSNE names the PMK-R1, and MDE and FTE of the association response
// follow.
pub(super) fn repeated(declared: &Declared, master: &Master) -> Vec<u8> {
    match master {
        Master::Pmk { .. } => declared.to_bytes(),
        Master::Transition(transition) => {
            let named = declared.naming(transition.pmk_r1.name).as_ref().map(Rsne::to_bytes);
            let rsnxe = declared.rsnxe.as_deref().unwrap_or_default();
            [&named.unwrap_or_default()[..], rsnxe, &transition.mde, &transition.fte].concat()
        }
    }
}

/// Whether key data repeat what a side declared before.
// 802.11-2020 §12.7.6.3, §12.7.6.4: bit by bit; otherwise somebody may have weakened what was declared.
pub(super) fn check_repeated(
    key_data: &KeyData<'_>,
    declared: &Declared,
    master: &Master,
    generation: Generation,
) -> Result<(), Reason> {
    let found = |id| key_data.element(id).map(|element| element.to_bytes());
    if found(ElementId::RSNX) != declared.rsnxe {
        return Err(Reason::ElementsDiffer);
    }
    let element = match generation {
        Generation::Rsn => found(ElementId::RSN),
        Generation::Wpa => key_data.wpa().map(wpa_element),
    };
    let element = element.ok_or(Reason::ElementsDiffer)?;
    match master {
        Master::Pmk { .. } if element == declared.element => Ok(()),
        Master::Pmk { .. } => Err(Reason::ElementsDiffer),
        Master::Transition(transition) => {
            check_named(&element, declared, transition)?;
            check_same(&found(ElementId::MOBILITY_DOMAIN), &transition.mde, Reason::AnotherMde)?;
            check_same(&found(ElementId::FAST_TRANSITION), &transition.fte, Reason::AnotherFte)
        }
    }
}

/// The RSNE of a fast transition: as declared, but for the PMKID, which is the name of the PMK-R1.
fn check_named(element: &[u8], declared: &Declared, transition: &Transition) -> Result<(), Reason> {
    let expected = declared.naming(transition.pmk_r1.name).ok_or(Reason::ElementsDiffer)?;
    let rsne = Rsne::read(element.get(2..).unwrap_or_default()).map_err(|_| Reason::ElementsDiffer)?;
    if rsne.pmkids != expected.pmkids {
        return Err(Reason::AnotherPmkR1);
    }
    if rsne == expected { Ok(()) } else { Err(Reason::ElementsDiffer) }
}

fn check_same(found: &Option<Vec<u8>>, expected: &[u8], otherwise: Reason) -> Result<(), Reason> {
    if found.as_deref() == Some(expected) { Ok(()) } else { Err(otherwise) }
}

/// WPA's element with id and length, of what follows its OUI and type.
fn wpa_element(data: &[u8]) -> Vec<u8> {
    const HEADER: [u8; 4] = [0x00, 0x50, 0xf2, 1];
    let len = u8::try_from(HEADER.len() + data.len()).unwrap_or(u8::MAX);
    [&[ElementId::VENDOR.0, len], &HEADER[..], data].concat()
}
