//! EAP packets in words, whoever carries them: RFC 3748 §4 and §5, RFC 4186 §9, RFC 4187 §9, RFC 9048, RFC 5216 §3,
//! draft-kamath-pppext-eap-mschapv2 §2. A [`Flow`] follows one conversation, because TLS messages span packets.

use std::fmt;
use std::sync::Arc;

use keytoll_family::words::printable;
use keytoll_family::{InnerMethod, Part, Words as Shown};
use keytoll_net::wire::Reader;

use super::tls::{self, Direction};
use crate::methods::{Method, of_type};
use crate::packet::{Message, MethodType, Packet};
use crate::registry;
use crate::simaka::attribute::Attribute;
use crate::simaka::flavour::subtype;

/// What an EAP packet is: RFC 3748 §4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketKind {
    /// RFC 3579 §2.1: no packet at all, with which an authenticator asks the server to begin.
    Start,
    /// A request of this type.
    Request(MethodType),
    /// A response of this type.
    Response(MethodType),
    /// The end of an authentication.
    Success,
    /// The end of a failed one.
    Failure,
    /// Something that cannot be read.
    Malformed,
}

impl PacketKind {
    /// The method that it runs, if the server speaks: what is neither identity nor notification, registered or not.
    pub fn server_method(self) -> Option<MethodType> {
        match self {
            Self::Request(MethodType::IDENTITY | MethodType::NOTIFICATION) => None,
            Self::Request(method) => Some(method),
            _ => None,
        }
    }
}

impl fmt::Display for PacketKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("EAP-Start"),
            Self::Request(method) => write!(f, "EAP-Request/{method}"),
            Self::Response(method) => write!(f, "EAP-Response/{method}"),
            Self::Success => f.write_str("EAP-Success"),
            Self::Failure => f.write_str("EAP-Failure"),
            Self::Malformed => f.write_str("EAP"),
        }
    }
}

/// An EAP packet in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// What it is.
    pub kind: PacketKind,
    /// What is in it.
    pub parts: Vec<Part>,
    /// What in it says that something failed.
    pub failure: Option<String>,
}

impl Words {
    const fn bare(kind: PacketKind) -> Self {
        Self { kind, parts: Vec::new(), failure: None }
    }

    /// All of it in one line.
    pub fn line(&self) -> String {
        let parts: Vec<String> = self.parts.iter().map(Part::to_string).collect();
        if parts.is_empty() { self.kind.to_string() } else { format!("{}: {}", self.kind, parts.join(", ")) }
    }
}

/// What the catalogue calls a method, as far as it shows; `type-77` if it is not ours.
fn inner(kind: MethodType) -> InnerMethod {
    let shown = kind.to_string();
    let unknown = || shown.to_lowercase().replace(' ', "-");
    let name = of_type(kind).next().map_or_else(unknown, Method::name_outside);
    InnerMethod { title: format!("EAP-{shown}"), shown, name }
}

impl keytoll_family::Flow for Flow {
    fn take(&mut self, packet: &[u8]) -> Shown {
        let words = Self::take(self, packet);
        let method = words.kind.server_method().map(|kind| Arc::new(inner(kind)));
        Shown { protocol: "EAP", line: words.line(), failure: words.failure, method }
    }
}

/// One EAP conversation, followed.
#[derive(Debug, Clone, Default)]
pub struct Flow {
    to_peer: Half,
    to_server: Half,
}

/// What one side says, fragment after fragment.
#[derive(Debug, Clone, Default)]
struct Half {
    buffer: Vec<u8>,
    tls: Direction,
}

/// The longest TLS flight that is put together, in bytes.
const FLIGHT_BYTES_MAX: usize = 64 << 10;

impl Flow {
    /// Puts the next packet of the conversation into words; one that was sent again must not be shown twice.
    pub fn take(&mut self, bytes: &[u8]) -> Words {
        match Packet::read(bytes) {
            _ if bytes.is_empty() => Words::bare(PacketKind::Start),
            Err(error) => {
                let parts = vec![Part::bare(format!("MALFORMED: {error}"))];
                Words { parts, ..Words::bare(PacketKind::Malformed) }
            }
            Ok(Packet::Success(_)) => Words::bare(PacketKind::Success),
            Ok(Packet::Failure(_)) => {
                let failure = Some(PacketKind::Failure.to_string());
                Words { failure, ..Words::bare(PacketKind::Failure) }
            }
            Ok(Packet::Request(message)) => {
                message_words(PacketKind::Request(message.kind), &message, &mut self.to_peer)
            }
            Ok(Packet::Response(message)) => {
                message_words(PacketKind::Response(message.kind), &message, &mut self.to_server)
            }
        }
    }
}

/// A request or response in words; `half` is what its sender has said before.
fn message_words(kind: PacketKind, message: &Message<'_>, half: &mut Half) -> Words {
    let mut words = Words::bare(kind);
    match message.kind {
        MethodType::IDENTITY if matches!(kind, PacketKind::Response(_)) => {
            words.parts.push(Part::bare(format!("\"{}\"", printable(message.data))));
        }
        MethodType::NOTIFICATION => words.parts.push(Part::bare(printable(message.data))),
        MethodType::NAK => words.parts.push(Part::new("wants", nak(message.data))),
        MethodType::EXPANDED => words.parts.push(Part::bare(registry::vendors_words(message.data))),
        MethodType::MSCHAPV2 => mschapv2(message.data, &mut words),
        kind if of_type(kind).any(|method| method.card.is_some()) => simaka(message.data, &mut words),
        kind if of_type(kind).any(|method| method.has_tls) => half.tunnelled(message.data, &mut words),
        _ => {}
    }
    words
}

/// RFC 3748 §5.3.1: the types the peer would rather have; 0 stands for none.
fn nak(data: &[u8]) -> String {
    let names = data.iter().take(8).map(|&kind| match kind {
        0 => "nothing".to_owned(),
        kind => MethodType(kind).to_string(),
    });
    names.collect::<Vec<_>>().join(" ")
}

fn mschapv2(data: &[u8], words: &mut Words) {
    // draft-kamath §2:  OpCode(1) MS-CHAPv2-ID(1) Length(2) Data(*); Success and Failure responses are an OpCode alone.
    const FAILURE: u8 = 4;
    let code = data.first();
    let (name, text) = match code {
        Some(1) => ("Challenge", None),
        Some(2) => ("Response", None),
        Some(3) => ("Success", None),
        Some(&FAILURE) => ("Failure", data.get(4..)),
        Some(7) => ("Change-Password", None),
        _ => ("unknown", None),
    };
    words.parts.push(Part::new(name, text.map(printable).unwrap_or_default()));
    if code == Some(&FAILURE) {
        words.failure = Some("MSCHAPv2 Failure".to_owned());
    }
}

fn simaka(data: &[u8], words: &mut Words) {
    let Some((&kind, rest)) = data.split_first() else { return };
    let name = match kind {
        subtype::AKA_CHALLENGE => "AKA-Challenge",
        subtype::AKA_AUTHENTICATION_REJECT => "Authentication-Reject",
        subtype::AKA_SYNCHRONIZATION_FAILURE => "Synchronization-Failure",
        subtype::AKA_IDENTITY => "AKA-Identity",
        subtype::SIM_START => "SIM-Start",
        subtype::SIM_CHALLENGE => "SIM-Challenge",
        subtype::NOTIFICATION => "Notification",
        subtype::REAUTHENTICATION => "Re-authentication",
        subtype::CLIENT_ERROR => "Client-Error",
        _ => "unknown subtype",
    };
    words.parts.push(Part::bare(name));
    if matches!(kind, subtype::AKA_AUTHENTICATION_REJECT | subtype::CLIENT_ERROR) {
        words.failure = Some(name.to_owned());
    }
    // RFC 4186 §8.1: two reserved bytes, then attributes.
    let mut r = Reader::new(rest.get(2..).unwrap_or_default());
    while !r.is_empty() {
        match Attribute::read(&mut r) {
            Ok(attribute) => simaka_attribute(&attribute, words),
            Err(error) => {
                words.parts.push(Part::bare(format!("MALFORMED: {error}")));
                return;
            }
        }
    }
}

/// The attributes that tell something; secrets and random numbers do not.
fn simaka_attribute(attribute: &Attribute<'_>, words: &mut Words) {
    let part = match attribute {
        Attribute::PermanentIdReq => Part::bare("AT_PERMANENT_ID_REQ"),
        Attribute::AnyIdReq => Part::bare("AT_ANY_ID_REQ"),
        Attribute::FullauthIdReq => Part::bare("AT_FULLAUTH_ID_REQ"),
        Attribute::Identity(identity) => Part::new("AT_IDENTITY", printable(identity)),
        Attribute::Rand(rand) => Part::new("AT_RAND", (rand.len() / 16).to_string()),
        Attribute::Autn(_) => Part::bare("AT_AUTN"),
        Attribute::Res(_) => Part::bare("AT_RES"),
        Attribute::Auts(_) => Part::bare("AT_AUTS"),
        Attribute::Mac(_) => Part::bare("AT_MAC"),
        Attribute::KdfInput(name) => Part::new("AT_KDF_INPUT", printable(name)),
        Attribute::Kdf(number) => Part::new("AT_KDF", number.to_string()),
        Attribute::EncrData(_) => Part::bare("AT_ENCR_DATA"),
        Attribute::ResultInd => Part::bare("AT_RESULT_IND"),
        Attribute::Counter(number) => Part::new("AT_COUNTER", number.to_string()),
        Attribute::Notification(code) => notification(*code, words),
        Attribute::ClientErrorCode(code) => Part::new("AT_CLIENT_ERROR_CODE", client_error(*code)),
        Attribute::Skipped(kind) => Part::bare(format!("attribute {kind}")),
        _ => return,
    };
    words.parts.push(part);
}

/// RFC 4186 §10.18: the S bit says success.
fn notification(code: u16, words: &mut Words) -> Part {
    let name = match code {
        0 => "general failure after authentication",
        1026 => "temporarily denied access",
        1031 => "not subscribed to the service",
        16_384 => "general failure",
        32_768 => "success",
        _ => "",
    };
    if code & 0x8000 == 0 {
        words.failure = Some(format!("notification {code} {name}").trim_end().to_owned());
    }
    Part::new("AT_NOTIFICATION", format!("{code} {name}").trim_end())
}

/// RFC 4186 §10.19.
fn client_error(code: u16) -> String {
    let name = match code {
        0 => "unable to process packet",
        1 => "unsupported version",
        2 => "insufficient number of challenges",
        3 => "RANDs are not fresh",
        _ => "",
    };
    format!("{code} {name}").trim_end().to_owned()
}

impl Half {
    /// RFC 5216 §3.1:  Flags(1: L M S, version of TTLS and PEAP) [TLS Message Length(4)] TLS Data(*)
    fn tunnelled(&mut self, data: &[u8], words: &mut Words) {
        const LENGTH_INCLUDED: u8 = 0x80;
        const MORE: u8 = 0x40;
        const START: u8 = 0x20;
        let Some((&flags, rest)) = data.split_first() else { return };
        if flags & START != 0 {
            words.parts.push(Part::bare("Start"));
            return;
        }
        let (length, rest) = match rest.split_first_chunk::<4>() {
            Some((length, rest)) if flags & LENGTH_INCLUDED != 0 => (Some(u32::from_be_bytes(*length)), rest),
            _ => (None, rest),
        };
        if rest.is_empty() {
            words.parts.push(Part::bare("acknowledges"));
            return;
        }
        if self.buffer.len() + rest.len() > FLIGHT_BYTES_MAX {
            self.buffer.clear();
        }
        self.buffer.extend_from_slice(rest);
        if flags & MORE != 0 {
            let of = length.map(|length| format!(" of {length}")).unwrap_or_default();
            words.parts.push(Part::new("fragment", format!("{} bytes{of}, more follow", rest.len())));
            return;
        }
        let flight = std::mem::take(&mut self.buffer);
        let (parts, failure) = tls::flight(&flight, &mut self.tls);
        words.parts.extend(parts);
        words.failure = failure.or(words.failure.take());
    }
}
