//! What both ends share: their names in every message, and the facts they record.

use keytoll_engine::trace::{Fact, Message as Sent};
use keytoll_engine::{Ctx, Datagram};
use keytoll_net::wire::Reader;
use keytoll_net::{Addr, Socket};

use crate::Name;
use crate::names::{self, DIAMETER};
use crate::number::{AvpCode, VENDOR_3GPP, application};
use crate::wire::{Avps, Builder, Header};

/// Offset of the flags in a message.
const FLAGS_AT: usize = 4;
/// Position of the Hop-by-Hop Identifier.
const HOP_BY_HOP_AT: std::ops::Range<usize> = 12..16;

/// Starts a message with Origin-Host and Origin-Realm.
pub(crate) fn begin(header: Header, name: &Name) -> Builder {
    Builder::new(header)
        .with(AvpCode::ORIGIN_HOST, name.host.as_bytes())
        .with(AvpCode::ORIGIN_REALM, name.realm.as_bytes())
}

/// The supported applications (RFC 6733 §5.3, §6.11).
pub(crate) fn capabilities(message: Builder, local: Socket) -> Builder {
    // RFC 6733 §4.3.1: an Address starts with its family, 1 for IPv4 and 2 for IPv6.
    let address = match local.ip {
        std::net::IpAddr::V4(ip) => [&[0, 1][..], &ip.octets()].concat(),
        std::net::IpAddr::V6(ip) => [&[0, 2][..], &ip.octets()].concat(),
    };
    let message = message
        .with(AvpCode::HOST_IP_ADDRESS, &address)
        .with_u32(AvpCode::VENDOR_ID, 0)
        .with(AvpCode::PRODUCT_NAME, b"keytoll");
    [application::SWX, application::S6A].into_iter().fold(message, with_application)
}

/// Appends Vendor-Specific-Application-Id.
pub(crate) fn with_application(message: Builder, application: u32) -> Builder {
    message.with_group(AvpCode::VENDOR_SPECIFIC_APPLICATION_ID, |group| {
        group.with_u32(AvpCode::VENDOR_ID, VENDOR_3GPP).with_u32(AvpCode::AUTH_APPLICATION_ID, application)
    })
}

/// The result in an answer: Result-Code, else Experimental-Result-Code.
pub fn result_of(avps: &Avps<'_>) -> Option<u32> {
    if let Ok(Some(code)) = avps.u32(AvpCode::RESULT_CODE) {
        return Some(code);
    }
    let group = avps.group(AvpCode::EXPERIMENTAL_RESULT).ok()??;
    group.u32(AvpCode::EXPERIMENTAL_RESULT_CODE).ok()?
}

/// A datagram of these bytes; records that it was sent.
pub(crate) fn send(from: Socket, to: Socket, bytes: Vec<u8>, again: bool, cx: &mut Ctx<'_>) -> Datagram {
    let header =
        Header::read(&mut Reader::new(&bytes[FLAGS_AT..])).expect("a message begins with its header");
    let sent = names::message(&header, bytes.len());
    cx.trace.record(Fact::Sent(Sent { retransmission: again, ..sent }));
    Datagram { protocol: DIAMETER, from: Addr::Tcp(from), to: Addr::Tcp(to), bytes }
}

// RFC 6733 §13.1: a peer's name must be in its certificate, or any certificate of the authority could be used for any
// peer.
// RFC 4343 §3: names are compared without case.
/// Whether an Origin-Host is one of these names.
pub(crate) fn is_one_of(host: &[u8], names: &[String]) -> bool {
    names.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(host))
}

/// Sets the T flag of a request to be retransmitted (RFC 6733 §3).
pub(crate) fn mark_again(bytes: &mut [u8]) {
    bytes[FLAGS_AT] |= crate::wire::message::RETRANSMITTED;
}

/// Sets the Hop-by-Hop Identifier of a connection (RFC 6733 §3).
pub(crate) fn set_hop_by_hop(bytes: &mut [u8], hop_by_hop: u32) {
    bytes[HOP_BY_HOP_AT].copy_from_slice(&hop_by_hop.to_be_bytes());
}
