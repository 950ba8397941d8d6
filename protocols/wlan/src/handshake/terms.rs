//! What association has settled before a handshake begins.

use keytoll_crypto_api::{Crypto, Secret, about};

use crate::MacAddr;
use crate::eapol::information::descriptor_version;
use crate::eapol::{DescriptorType, KeyInformation};
use crate::frame::element::{Element, ElementId, Elements};
use crate::frame::rsn::{Rsne, Wpa};
use crate::keys::{Exchange, KeyName, Nonce, PmkR1, Ptk};
use crate::suite::{Akm, Cipher, Mic};

/// Which of the two protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    /// WPA, before 802.11i was finished: message 3 brings no group key, and nothing in it is encrypted.
    Wpa,
    /// RSN: WPA2 and WPA3.
    Rsn,
}

/// The elements with which a side declared how it protects, as it sent them, with id and length.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Declared {
    /// The RSNE, or WPA's element.
    pub element: Vec<u8>,
    /// The RSNXE, if it sent one.
    pub rsnxe: Option<Vec<u8>>,
}

impl Declared {
    /// Those among the elements of a beacon, probe response or association request.
    pub fn of(elements: &Elements<'_>, generation: Generation) -> Self {
        let find = |matches: &dyn Fn(&Element<'_>) -> bool| {
            elements.0.iter().find(|element| matches(element)).map(Element::to_bytes)
        };
        let element = match generation {
            Generation::Rsn => find(&|element| element.id == ElementId::RSN),
            Generation::Wpa => find(&|element| element.id == ElementId::VENDOR && Wpa::is_in(element.body)),
        };
        let rsnxe = find(&|element| element.id == ElementId::RSNX);
        Self { element: element.unwrap_or_default(), rsnxe }
    }

    /// As key data.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        [&self.element[..], self.rsnxe.as_deref().unwrap_or_default()].concat()
    }

    /// The RSNE with this PMKID and no other, as the handshake of fast transition has it.
    pub(crate) fn naming(&self, name: KeyName) -> Option<Rsne> {
        let rsne = Rsne::read(self.element.get(2..)?).ok()?;
        Some(Rsne { pmkids: vec![name], ..rsne })
    }
}

/// The terms of an association.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// WPA or RSN.
    pub generation: Generation,
    /// How the two sides got the PMK.
    pub akm: Akm,
    /// The cipher of frames between them.
    pub pairwise: Cipher,
    /// The cipher of group-addressed data.
    pub group: Cipher,
    /// The cipher of group-addressed management frames, where those are protected.
    pub group_management: Option<Cipher>,
    /// The authenticator's address.
    pub aa: MacAddr,
    /// The supplicant's address.
    pub spa: MacAddr,
    /// The protocol version of EAPOL PDUs.
    pub eapol_version: u8,
    /// What the access point declared in beacons and probe responses.
    pub access_point: Declared,
    /// What the station declared in its association request.
    pub station: Declared,
    /// Whether both sides may have two pairwise keys at a time.
    pub extended_key_id: bool,
}

/// What the handshake proves that both sides have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Master {
    /// A PMK and, if message 1 is to name it, its name.
    Pmk {
        /// The key.
        key: Secret,
        /// Its PMKID.
        name: Option<KeyName>,
    },
    /// The PMK-R1 of a fast transition's mobility domain.
    Transition(Transition),
}

/// The first association in a mobility domain (802.11-2020 §13.4.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// The key, with its name.
    pub pmk_r1: PmkR1,
    /// The MDE of the association response, with id and length.
    pub mde: Vec<u8>,
    /// Its FTE, with id and length.
    pub fte: Vec<u8>,
}

impl Master {
    /// What message 1 names.
    pub(super) const fn name(&self) -> Option<KeyName> {
        match self {
            Self::Pmk { name, .. } => *name,
            Self::Transition(transition) => Some(transition.pmk_r1.name),
        }
    }
}

impl Terms {
    /// How MIC and key data are protected.
    // 802.11-2020 §12.7.2 b) 1): the key descriptor version of TKIP, 1, says HMAC-MD5 and RC4, whatever the AKM.
    pub const fn mic(&self) -> Mic {
        match descriptor_version(self.akm, self.pairwise) {
            KeyInformation::VERSION_MD5_RC4 => Mic::HmacMd5,
            _ => self.akm.mic(),
        }
    }

    /// The key descriptor.
    pub(super) const fn descriptor(&self) -> DescriptorType {
        match self.generation {
            Generation::Wpa => DescriptorType::WPA,
            Generation::Rsn => DescriptorType::RSN,
        }
    }

    /// Key information with these bits.
    pub(super) fn information(&self, bits: &[KeyInformation]) -> KeyInformation {
        let versioned = KeyInformation::versioned(descriptor_version(self.akm, self.pairwise));
        bits.iter().fold(versioned, |information, &bit| information.with(bit))
    }

    /// Octets of the pairwise temporal key, as messages of the authenticator tell it.
    pub(super) const fn key_len(&self) -> u16 {
        self.pairwise.key_len() as u16
    }

    /// The PTK of these nonces.
    pub(crate) fn ptk(
        &self,
        master: &Master,
        (anonce, snonce): (Nonce, Nonce),
        crypto: &mut dyn Crypto,
    ) -> Ptk {
        let exchange = Exchange { aa: self.aa, spa: self.spa, anonce, snonce };
        match master {
            Master::Pmk { key, .. } => Ptk::of_handshake(self.akm, self.pairwise, key, &exchange, crypto),
            Master::Transition(transition) => about(crypto, "PTK", |crypto| {
                transition.pmk_r1.ptk(self.akm, self.pairwise, &exchange, crypto).0
            }),
        }
    }
}
