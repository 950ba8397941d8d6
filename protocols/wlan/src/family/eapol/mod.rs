//! EAPOL in words: IEEE 802.1X-2020 §11.3 (header), §11.9 (EAPOL-Key), 802.11-2020 §12.7.2 (its RSN key descriptor), §12.7.6 (4-way
//! handshake), §12.7.7 (group key handshake).

use keytoll_engine::trace::Message;
use keytoll_family::words::printable;
use keytoll_family::{About, Content, Dissected, Entry, LinkSeal, Part, unreadable};
use keytoll_net::wire::{DecodeError, Problem, Reader};

use super::eap::{Code, Eap};
use crate::eapol::pdu::HEADER_LEN;
use crate::eapol::{DescriptorType, KeyInformation, PacketType, Pdu, Rc4Key, RsnKey};
use crate::names;

/// An EAPOL PDU as its conversation sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Eapol {
    /// What it says.
    pub(super) body: Body,
    /// The identity that an EAP packet tells.
    pub(super) user: Option<String>,
    /// Whether the frame that carried it was encrypted.
    pub(super) seal: LinkSeal,
}

impl Content for Eapol {
    fn tell(&self, _: &Entry, about: &mut About) {
        about.user = about.user.take().or_else(|| self.user.clone());
    }
}

/// What an EAPOL PDU says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Body {
    /// An EAP packet.
    Eap(Vec<u8>),
    /// The supplicant asks the authenticator to begin.
    Start,
    /// The supplicant leaves.
    Logoff,
    /// Keys.
    Key(Key),
}

/// An EAPOL-Key frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    /// Which message of which handshake, if it is of one.
    pub(super) handshake: Option<Handshake>,
    /// Whether the authenticator sent it.
    pub(super) from_authenticator: bool,
    /// Whether it brings a station its own key of dynamic WEP.
    pub(super) is_own_wep: bool,
    /// What tells it from others, and not from itself sent again: then the replay counter is another.
    pub(super) nonce: Vec<u8>,
}

/// A message of a handshake, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Handshake {
    /// IEEE 802.11-2020 §12.7.6.
    FourWay(u8),
    /// IEEE 802.11-2020 §12.7.7.
    Group(u8),
}

impl Handshake {
    /// The message that it answers.
    pub(super) const fn answers(self) -> Option<Self> {
        match self {
            Self::FourWay(number @ 2..) => Some(Self::FourWay(number - 1)),
            Self::Group(number @ 2..) => Some(Self::Group(number - 1)),
            _ => None,
        }
    }

    /// Whether another must follow.
    pub(super) const fn asks(self) -> bool {
        matches!(self, Self::FourWay(..4) | Self::Group(..2))
    }
}

/// The length of a PDU. IEEE 802.1X-2020 table 11-3: what has a greater number than a key is MACsec's key agreement and
/// announcements, which are no part of an authentication.
pub(super) fn length(pdu: &[u8]) -> Result<usize, String> {
    let header = pdu.first_chunk::<HEADER_LEN>();
    let &[_, kind, l0, l1] = header.ok_or_else(|| "EAPOL header cut short".to_owned())?;
    let packet_type = PacketType(kind);
    if packet_type > PacketType::KEY {
        let name = names::packet_type(packet_type);
        return Err(name.map_or_else(|| format!("EAPOL packet type {kind}"), str::to_owned));
    }
    Ok(HEADER_LEN + usize::from(u16::from_be_bytes([l0, l1])))
}

/// What the records say of a PDU.
pub(super) fn message(bytes: &[u8]) -> Result<Message, DecodeError> {
    let missing = || Reader::new(bytes).error("EAPOL", Problem::Missing);
    read(bytes, LinkSeal::None)?.sent.ok_or_else(missing)
}

pub(super) fn dissect(bytes: &[u8], seal: LinkSeal) -> Dissected {
    read(bytes, seal).unwrap_or_else(|error| unreadable("EAPOL", &error))
}

fn read(bytes: &[u8], seal: LinkSeal) -> Result<Dissected, DecodeError> {
    let pdu = Pdu::read(bytes)?;
    let mut parts = vec![Part::new("EAPOL", format!("version {}", pdu.version))];
    parts.extend((seal == LinkSeal::Opened).then(|| Part::bare("decrypted")));
    let mut name = names::packet_type(pdu.packet_type).unwrap_or("EAPOL").to_owned();
    let (mut user, mut id, mut response) = (None, 0, false);
    let body = match pdu.packet_type {
        PacketType::EAP_PACKET => {
            parts.push(Part::carried("EAP", ""));
            if let Some(eap) = Eap::read(pdu.body) {
                id = eap.identifier;
                name = format!("{name} {id}");
                response = eap.code == Code::Response;
                user = identity(&eap);
            }
            Body::Eap(pdu.body.to_vec())
        }
        PacketType::START => Body::Start,
        PacketType::LOGOFF => Body::Logoff,
        PacketType::KEY => {
            let (key, told) = Key::read(&pdu, bytes)?;
            parts.extend(told);
            response = !key.from_authenticator;
            Body::Key(key)
        }
        // The point of capture lets no other pass.
        PacketType(other) => {
            let problem = Problem::Value(other.into());
            return Err(DecodeError { field: "EAPOL packet type", offset: 1, problem });
        }
    };
    let sent = Some(names::pdu(pdu.packet_type, response, id, bytes.len()));
    Ok(Dissected { parts, sent, ..Dissected::bare(name, Eapol { body, user, seal }) })
}

/// RFC 3748 §5.1.
fn identity(eap: &Eap<'_>) -> Option<String> {
    (eap.code == Code::Response && eap.is_identity()).then(|| printable(eap.data))
}

impl Key {
    fn read(pdu: &Pdu<'_>, bytes: &[u8]) -> Result<(Self, Vec<Part>), DecodeError> {
        match DescriptorType::of(pdu)? {
            DescriptorType::RC4 => Ok(Self::rc4(&Rc4Key::read(bytes)?.0)),
            DescriptorType::RSN => Ok(Self::rsn("RSN", &RsnKey::read_of_any_akm(bytes)?.0)),
            DescriptorType::WPA => Ok(Self::rsn("WPA", &RsnKey::read_of_any_akm(bytes)?.0)),
            DescriptorType(other) => {
                let nonce = pdu.body[1..].to_vec();
                let key = Self { handshake: None, from_authenticator: true, is_own_wep: false, nonce };
                Ok((key, vec![Part::new("descriptor", other.to_string())]))
            }
        }
    }

    fn rc4(key: &Rc4Key<'_>) -> (Self, Vec<Part>) {
        let kind = if key.unicast { "pairwise key" } else { "group key" };
        let parts = vec![
            Part::new("descriptor", "RC4"),
            Part::new(kind, key.index.to_string()),
            Part::new("replay counter", key.replay_counter.to_string()),
        ];
        let (is_own_wep, nonce) = (key.unicast, key.iv.to_vec());
        (Self { handshake: None, from_authenticator: true, is_own_wep, nonce }, parts)
    }

    fn rsn(descriptor: &'static str, key: &RsnKey<'_>) -> (Self, Vec<Part>) {
        let data_len = key.key_data.len();
        let handshake = Handshake::of(key.information, data_len);
        let mut parts = vec![
            Part::new("descriptor", descriptor),
            told(key.information, handshake),
            Part::new("replay counter", key.replay_counter.to_string()),
        ];
        if data_len > 0 {
            let is_encrypted = key.information.has(KeyInformation::ENCRYPTED);
            let how = if is_encrypted { ", encrypted" } else { "" };
            parts.push(Part::new("key data", format!("{data_len} bytes{how}")));
        }
        let from_authenticator = key.information.has(KeyInformation::ACK);
        let nonce = key.nonce.to_vec();
        (Self { handshake, from_authenticator, is_own_wep: false, nonce }, parts)
    }
}

impl Handshake {
    /// Which message it is, told as authenticators and supplicants do.
    pub(super) fn of(information: KeyInformation, data_len: usize) -> Option<Self> {
        use KeyInformation as Bits;
        if information.has_any(Bits::ERROR.with(Bits::REQUEST).with(Bits::SMK)) {
            return None;
        }
        let has = |bits| information.has(bits);
        Some(match (has(Bits::PAIRWISE), has(Bits::ACK)) {
            // 802.11-2020 §12.7.6.4: the third one installs the key; under an AEAD cipher it has no MIC, but is encrypted.
            (true, true) if information.has_any(Bits::INSTALL.with(Bits::MIC).with(Bits::ENCRYPTED)) => {
                Self::FourWay(3)
            }
            (true, true) => Self::FourWay(1),
            // 802.11-2020 §12.7.6.3: the second one tells the supplicant's RSNE, and §12.7.6.5: the fourth one nothing; under
            // an AEAD cipher both are encrypted, which makes nothing 16 bytes long. Secure is set in both once there are keys.
            (true, false) if data_len == 0 || !has(Bits::MIC) && has(Bits::ENCRYPTED) && data_len == 16 => {
                Self::FourWay(4)
            }
            (true, false) => Self::FourWay(2),
            (false, true) => Self::Group(1),
            (false, false) => Self::Group(2),
        })
    }
}

fn told(information: KeyInformation, handshake: Option<Handshake>) -> Part {
    use KeyInformation as Bits;
    match handshake {
        Some(Handshake::FourWay(number)) => Part::new("4-way handshake", format!("message {number} of 4")),
        Some(Handshake::Group(number)) => Part::new("group key handshake", format!("message {number} of 2")),
        None => {
            let bits = [
                (Bits::ERROR, "Error"),
                (Bits::REQUEST, "Request"),
                (Bits::SMK, "SMK"),
                (Bits::SECURE, "Secure"),
            ];
            let set: Vec<&str> =
                bits.iter().filter(|(bit, _)| information.has(*bit)).map(|(_, name)| *name).collect();
            Part::new("key information", set.join(" "))
        }
    }
}

#[cfg(test)]
mod tests;
