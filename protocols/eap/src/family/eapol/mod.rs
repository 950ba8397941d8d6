//! EAPOL: IEEE 802.1X-2020 §11.3 (header), §11.9 (EAPOL-Key), IEEE 802.11-2020 §12.7.2 (its RSN key descriptor), §12.7.6 (4-way
//! handshake), §12.7.7 (group key handshake).

pub(super) mod analyser;
mod dialogues;

use keytoll_engine::trace::{Message, Name, Protocol};
use keytoll_family::words::printable;
use keytoll_family::{About, Content, Dissected, Entry, Part, unreadable};
use keytoll_net::wire::{DecodeError, Problem, Reader};

use crate::packet::{MethodType, Packet};

/// An EAPOL PDU as its conversation sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Eapol {
    /// What it says.
    pub body: Body,
    /// The identity that an EAP packet tells.
    pub user: Option<String>,
}

impl Content for Eapol {
    fn tell(&self, _: &Entry, about: &mut About) {
        about.user = about.user.take().or_else(|| self.user.clone());
    }
}

/// What an EAPOL PDU says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
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
pub struct Key {
    /// Which message of which handshake, if it is of one.
    pub handshake: Option<Handshake>,
    /// Whether the authenticator sent it.
    pub from_authenticator: bool,
    /// What tells it from others, and not from itself sent again: then the replay counter is another.
    pub nonce: Vec<u8>,
}

/// A message of a handshake, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Handshake {
    /// IEEE 802.11-2020 §12.7.6.
    FourWay(u8),
    /// IEEE 802.11-2020 §12.7.7.
    Group(u8),
}

impl Handshake {
    /// The message that it answers.
    pub const fn answers(self) -> Option<Self> {
        match self {
            Self::FourWay(number @ 2..) => Some(Self::FourWay(number - 1)),
            Self::Group(number @ 2..) => Some(Self::Group(number - 1)),
            _ => None,
        }
    }

    /// Whether another must follow.
    pub const fn asks(self) -> bool {
        matches!(self, Self::FourWay(..4) | Self::Group(..2))
    }
}

/// IEEE 802.1X-2020 §11.1.4.
pub(super) const ETHER_TYPE: u16 = 0x888e;

const EAP_PACKET: u8 = 0;
const START: u8 = 1;
const LOGOFF: u8 = 2;
const KEY: u8 = 3;

/// 802.11 and 802.1X.
pub const WLAN: Protocol = Protocol::new(&"wlan");

/// Declares the packet types: their names alone and in either direction. An EAP packet has one of its own, and a key goes from
/// or to the authenticator.
macro_rules! packet_types {
    ($($number:pat => $name:literal),+) => {
        /// Packet types of EAPOL, IEEE 802.1X-2020 table 11-3.
        const fn packet_type(number: u8) -> Option<&'static str> {
            match number {
                $($number => Some($name),)+
                _ => None,
            }
        }

        const fn message_name(number: u8, response: bool) -> Name {
            match (number, response) {
                $(
                    ($number, false) => Name::new(&concat!($name, " request")),
                    ($number, true) => Name::new(&concat!($name, " response")),
                )+
                (_, false) => Name::new(&"EAPOL request"),
                (_, true) => Name::new(&"EAPOL response"),
            }
        }
    };
}

packet_types! {
    EAP_PACKET => "EAP-Packet",
    START => "EAPOL-Start",
    LOGOFF => "EAPOL-Logoff",
    KEY => "EAPOL-Key",
    4 => "EAPOL-Encapsulated-ASF-Alert",
    5 => "EAPOL-MKA",
    6 | 7 => "EAPOL-Announcement",
    8 => "EAPOL-Announcement-Req"
}

/// IEEE 802.1X-2020 §11.3:  Protocol Version(1) Packet Type(1) Packet Body Length(2)
const HEADER_LEN: usize = 4;

/// The length of a PDU. IEEE 802.1X-2020 table 11-3: what has a greater number than a key is MACsec's key agreement and
/// announcements, which are no part of an authentication.
pub(super) fn length(pdu: &[u8]) -> Result<usize, String> {
    let header = pdu.first_chunk::<HEADER_LEN>();
    let &[_, kind, l0, l1] = header.ok_or_else(|| "EAPOL header cut short".to_owned())?;
    if kind > KEY {
        return Err(packet_type(kind).map_or_else(|| format!("EAPOL packet type {kind}"), str::to_owned));
    }
    Ok(HEADER_LEN + usize::from(u16::from_be_bytes([l0, l1])))
}

/// What the records say of a PDU.
pub(super) fn message(bytes: &[u8]) -> Result<Message, DecodeError> {
    let missing = || Reader::new(bytes).error("EAPOL", Problem::Missing);
    read(bytes)?.sent.ok_or_else(missing)
}

fn dissect(bytes: &[u8]) -> Dissected {
    read(bytes).unwrap_or_else(|error| unreadable("EAPOL", &error))
}

/// IEEE 802.1X-2020 §11.3:  Protocol Version(1) Packet Type(1) Packet Body Length(2) Packet Body(*)
fn read(bytes: &[u8]) -> Result<Dissected, DecodeError> {
    let mut r = Reader::new(bytes);
    let version = r.u8("EAPOL protocol version")?;
    let at = r;
    let kind = r.u8("EAPOL packet type")?;
    let length = r.u16("EAPOL packet body length")?;
    let mut body = r.sub(length.into(), "EAPOL packet body")?;
    let mut parts = vec![Part::new("EAPOL", format!("version {version}"))];
    let mut name = packet_type(kind).unwrap_or("EAPOL").to_owned();
    let (mut user, mut id, mut response) = (None, 0, false);
    let body = match kind {
        EAP_PACKET => {
            parts.push(Part::carried("EAP", ""));
            if let Ok(packet) = Packet::read(body.clone().rest()) {
                id = packet.identifier();
                name = format!("{name} {id}");
                response = matches!(packet, Packet::Response(_));
                user = identity(&packet);
            }
            Body::Eap(body.rest().to_vec())
        }
        START => Body::Start,
        LOGOFF => Body::Logoff,
        // The point of capture lets no other pass.
        _ if kind != KEY => {
            return Err(at.error("EAPOL packet type", Problem::Value(kind.into())));
        }
        _ => {
            let (key, told) = Key::read(&mut body)?;
            parts.extend(told);
            response = !key.from_authenticator;
            Body::Key(key)
        }
    };
    let sent = Message {
        response,
        id: id.into(),
        bytes: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
        ..Message::new(WLAN, message_name(kind, response))
    };
    Ok(Dissected { parts, sent: Some(sent), ..Dissected::bare(name, Eapol { body, user }) })
}

/// RFC 3748 §5.1.
fn identity(packet: &Packet<'_>) -> Option<String> {
    match packet {
        Packet::Response(message) if message.kind == MethodType::IDENTITY => Some(printable(message.data)),
        _ => None,
    }
}

/// IEEE 802.1X-2020 §11.9 and table 11-5: the types of key descriptors; 254 is what WPA used before 802.11i was done.
const DESCRIPTOR_RC4: u8 = 1;
const DESCRIPTOR_RSN: u8 = 2;
const DESCRIPTOR_WPA: u8 = 254;

/// IEEE 802.11-2020 figure 12-34: bits of Key Information.
const PAIRWISE: u16 = 1 << 3;
const INSTALL: u16 = 1 << 6;
const ACK: u16 = 1 << 7;
const MIC: u16 = 1 << 8;
const SECURE: u16 = 1 << 9;
const ERROR: u16 = 1 << 10;
const REQUEST: u16 = 1 << 11;
const ENCRYPTED: u16 = 1 << 12;
const SMK: u16 = 1 << 13;

/// Table 12-8: lengths of the MIC, by the AKM, which is not in the frame; the commonest first.
const MIC_LENS: [usize; 4] = [16, 24, 32, 0];

impl Key {
    fn read(r: &mut Reader<'_>) -> Result<(Self, Vec<Part>), DecodeError> {
        let descriptor = r.u8("EAPOL-Key descriptor type")?;
        let name = match descriptor {
            DESCRIPTOR_RC4 => "RC4".to_owned(),
            DESCRIPTOR_RSN => "RSN".to_owned(),
            DESCRIPTOR_WPA => "WPA".to_owned(),
            other => other.to_string(),
        };
        let mut parts = vec![Part::new("descriptor", name)];
        let key = match descriptor {
            DESCRIPTOR_RSN | DESCRIPTOR_WPA => Self::rsn(r, &mut parts)?,
            DESCRIPTOR_RC4 => Self::rc4(r, &mut parts)?,
            _ => Self { handshake: None, from_authenticator: true, nonce: r.rest().to_vec() },
        };
        Ok((key, parts))
    }

    /// IEEE 802.1X-2004 §7.6:  Key Length(2) Replay Counter(8) Key IV(16) Key Index(1) Key Signature(16) Key(*)
    fn rc4(r: &mut Reader<'_>, parts: &mut Vec<Part>) -> Result<Self, DecodeError> {
        r.skip(2, "EAPOL-Key key length")?;
        let counter = r.u64("EAPOL-Key replay counter")?;
        let nonce = r.take(16, "EAPOL-Key key IV")?.to_vec();
        let index = r.u8("EAPOL-Key key index")?;
        r.skip(16, "EAPOL-Key key signature")?;
        let kind = if index & 0x80 == 0 { "group key" } else { "pairwise key" };
        parts.push(Part::new(kind, (index & 0x7f).to_string()));
        parts.push(Part::new("replay counter", counter.to_string()));
        Ok(Self { handshake: None, from_authenticator: true, nonce })
    }

    /// IEEE 802.11-2020 figure 12-33:  Key Information(2) Key Length(2) Replay Counter(8) Nonce(32) Key IV(16) RSC(8)
    /// Reserved(8) MIC(variable) Key Data Length(2) Key Data(*)
    fn rsn(r: &mut Reader<'_>, parts: &mut Vec<Part>) -> Result<Self, DecodeError> {
        let information = r.u16("EAPOL-Key key information")?;
        r.skip(2, "EAPOL-Key key length")?;
        let counter = r.u64("EAPOL-Key replay counter")?;
        let nonce = r.take(32, "EAPOL-Key nonce")?.to_vec();
        r.skip(16, "EAPOL-Key key IV")?;
        r.skip(8, "EAPOL-Key RSC")?;
        r.skip(8, "EAPOL-Key reserved")?;
        let data_len = key_data_len(r)?;
        let handshake = handshake(information, data_len);
        parts.push(told(information, handshake));
        parts.push(Part::new("replay counter", counter.to_string()));
        if data_len > 0 {
            let how = if information & ENCRYPTED == 0 { "" } else { ", encrypted" };
            parts.push(Part::new("key data", format!("{data_len} bytes{how}")));
        }
        Ok(Self { handshake, from_authenticator: information & ACK != 0, nonce })
    }
}

/// How long the key data are, which with the MIC before them must fill the frame.
fn key_data_len(r: &mut Reader<'_>) -> Result<usize, DecodeError> {
    for mic_len in MIC_LENS {
        let mut attempt = *r;
        let length =
            attempt.skip(mic_len, "EAPOL-Key MIC").and_then(|()| attempt.u16("EAPOL-Key key data length"));
        if length.is_ok_and(|length| usize::from(length) == attempt.len()) {
            return Ok(attempt.len());
        }
    }
    r.skip(MIC_LENS[0], "EAPOL-Key MIC")?;
    let at = *r;
    let length = r.u16("EAPOL-Key key data length")?;
    Err(at.error("EAPOL-Key key data length", Problem::Length(length.into())))
}

/// Which message it is, told as authenticators and supplicants do.
fn handshake(information: u16, data_len: usize) -> Option<Handshake> {
    let has = |bits| information & bits != 0;
    if has(ERROR | REQUEST | SMK) {
        return None;
    }
    Some(match (has(PAIRWISE), has(ACK)) {
        // IEEE 802.11-2020 §12.7.6.4: the third one installs the key; under an AEAD cipher it has no MIC, but is encrypted.
        (true, true) if has(INSTALL | MIC | ENCRYPTED) => Handshake::FourWay(3),
        (true, true) => Handshake::FourWay(1),
        // IEEE 802.11-2020 §12.7.6.3: the second one tells the supplicant's RSNE, and §12.7.6.5: the fourth one nothing; under
        // an AEAD cipher both are encrypted, which makes nothing 16 bytes long. Secure is set in both once there are keys.
        (true, false) if data_len == 0 || !has(MIC) && has(ENCRYPTED) && data_len == 16 => {
            Handshake::FourWay(4)
        }
        (true, false) => Handshake::FourWay(2),
        (false, true) => Handshake::Group(1),
        (false, false) => Handshake::Group(2),
    })
}

fn told(information: u16, handshake: Option<Handshake>) -> Part {
    match handshake {
        Some(Handshake::FourWay(number)) => Part::new("4-way handshake", format!("message {number} of 4")),
        Some(Handshake::Group(number)) => Part::new("group key handshake", format!("message {number} of 2")),
        None => {
            let bits = [(ERROR, "Error"), (REQUEST, "Request"), (SMK, "SMK"), (SECURE, "Secure")];
            let set: Vec<&str> =
                bits.iter().filter(|(bit, _)| information & bit != 0).map(|(_, name)| *name).collect();
            Part::new("key information", set.join(" "))
        }
    }
}

#[cfg(test)]
mod tests;
