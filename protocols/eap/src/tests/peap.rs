//! PEAP inside its tunnel: the messages of both sides, byte for byte, and hostile ones. The tunnel is transparent here;
//! `keytoll-hosts` tests it with TLS.

use std::sync::Arc;

use proptest::prelude::*;

use super::plain::Plain;
use super::{USER, mschapv2_peer, mschapv2_server};
use crate::methods::peap::{Binding, PeapPeer, PeapServer};
use crate::packet::{Message, MethodType};
use crate::testing::{World, hex};
use crate::tunnel::Framing;
use crate::tunnel::binding::{BindingKeys, CryptoBinding, Subtype};
use crate::tunnel::extensions::{Extensions, Verdict};
use crate::{
    Keys, PeerMethod, PeerOffer, PeerStep, Reason, ServerConfig, ServerMethod, ServerOffer, ServerStep, Turn,
};

const BINDINGS: [Binding; 3] = [Binding::Off, Binding::Optional, Binding::Required];
/// The identifier of every packet.
const IDENTIFIER: u8 = 7;
/// EAP-TLS flags: Start, of version 1, as hostapd proposes it.
const START: [u8; 1] = [0x21];

/// One side and its environment.
pub(super) struct Seat<M: ?Sized> {
    pub(super) method: Box<M>,
    pub(super) world: World,
}

impl<M: ?Sized> Seat<M> {
    pub(super) fn turn<T>(
        &mut self,
        data: &[u8],
        call: impl FnOnce(&mut M, &Message<'_>, &mut Turn<'_, '_>) -> T,
    ) -> T {
        let method = &mut *self.method;
        self.world.lend(|rng, cx| {
            let mut turn = Turn { identifier: IDENTIFIER, identity: USER.as_bytes(), rng, cx };
            let kind = MethodType::PEAP;
            call(method, &Message { identifier: IDENTIFIER, kind, data, packet: data }, &mut turn)
        })
    }
}

impl Seat<dyn PeerMethod> {
    pub(super) fn take(&mut self, data: &[u8]) -> PeerStep {
        self.turn(data, PeerMethod::on_request)
    }

    /// Takes application data.
    pub(super) fn hear(&mut self, inside: &[u8]) -> PeerStep {
        self.take(&[&[0], inside].concat())
    }
}

impl Seat<dyn ServerMethod> {
    pub(super) fn take(&mut self, data: &[u8]) -> ServerStep {
        self.turn(data, ServerMethod::on_response)
    }

    pub(super) fn hear(&mut self, inside: &[u8]) -> ServerStep {
        self.take(&[&[0], inside].concat())
    }
}

/// A peer before Start.
fn fresh_peer(tunnel: &Plain, binding: Binding, password: &str) -> Seat<dyn PeerMethod> {
    let offer = PeapPeer {
        tunnels: tunnel.client(),
        framing: Framing::default(),
        user: USER.into(),
        inside: mschapv2_peer(password),
        binding,
    };
    Seat { method: offer.begin(), world: World::real() }
}

/// A peer with an established tunnel.
fn peer(tunnel: &Plain, binding: Binding) -> Seat<dyn PeerMethod> {
    let mut peer = fresh_peer(tunnel, binding, "pässword");
    assert_eq!(peer.take(&START), PeerStep::Continue(b"\0H".to_vec()));
    assert_eq!(peer.hear(b"S"), PeerStep::Continue(b"\0C".to_vec()));
    if !tunnel.is_tls13 && tunnel.vouched.is_none() {
        assert_eq!(peer.hear(b"F"), PeerStep::Continue(vec![0]));
    }
    peer
}

/// A server that has not started.
fn fresh_server(tunnel: &Plain, binding: Binding) -> Seat<dyn ServerMethod> {
    let inside = ServerConfig { methods: vec![mschapv2_server(0)], ..ServerConfig::default() };
    let (tunnels, inside) = (tunnel.server(), Arc::new(inside));
    let offer = PeapServer { tunnels, framing: Framing::default(), inside, binding };
    Seat { method: offer.begin(), world: World::real() }
}

/// A server with an established tunnel, and its first step.
fn server(tunnel: &Plain, binding: Binding) -> (Seat<dyn ServerMethod>, ServerStep) {
    let mut server = fresh_server(tunnel, binding);
    let first = server.turn(&[], |method, _, turn| method.begin(turn));
    assert_eq!(first, ServerStep::Request(vec![0x20]));
    assert_eq!(server.hear(b"H"), ServerStep::Request(b"\0S".to_vec()));
    let mut first = server.hear(b"C");
    if !tunnel.is_tls13 && tunnel.vouched.is_none() {
        assert_eq!(first, ServerStep::Request(b"\0F".to_vec()), "Finished goes alone");
        first = server.hear(b"");
    }
    (server, first)
}

/// The result of a conversation: the inner messages, the server's first, and both ends.
struct Ended {
    inside: Vec<Vec<u8>>,
    peer: Result<Keys, Reason>,
    server: Result<Keys, Reason>,
    /// The identity that the server authenticated.
    identity: Option<Vec<u8>>,
}

/// Runs a conversation from the moment the tunnel is established.
fn converse(
    mut peer: Seat<dyn PeerMethod>,
    (mut server, mut said): (Seat<dyn ServerMethod>, ServerStep),
) -> Ended {
    let mut inside = vec![];
    let mut standing = Err(Reason::REFUSED);
    loop {
        let request = match said {
            ServerStep::Request(request) => request,
            ServerStep::Done(keys) => {
                let identity = server.method.identity().map(<[u8]>::to_vec);
                return Ended { inside, peer: standing, server: Ok(keys), identity };
            }
            ServerStep::Failed(reason) => {
                return Ended { inside, peer: standing, server: Err(reason), identity: None };
            }
            other => panic!("{other:?}"),
        };
        inside.push(request[1..].to_vec());
        let response = match peer.take(&request) {
            PeerStep::Continue(response) => response,
            PeerStep::Satisfied(response, keys) => {
                standing = Ok(keys);
                response
            }
            PeerStep::Failed(Some(response), reason) => {
                standing = Err(reason);
                response
            }
            other => panic!("{other:?} after {inside:x?}"),
        };
        inside.push(response[1..].to_vec());
        said = server.take(&response);
    }
}

/// Everything that is not random: types, codes and lengths.
fn outline(inside: &[Vec<u8>]) -> Vec<String> {
    let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let line = |data: &Vec<u8>| match data[..] {
        [1, IDENTIFIER, 0, length, 33, ..] | [2, IDENTIFIER, 0, length, 33, ..] => {
            assert_eq!(data.len(), usize::from(length));
            digits(&data[..data.len().min(11)])
        }
        [1] => "01".to_owned(),
        [1, ref name @ ..] => format!("01 {}", String::from_utf8_lossy(name)),
        [26, code, ..] => format!("1a {code:02x}"),
        ref other => panic!("{other:x?}"),
    };
    inside.iter().map(line).collect()
}

#[test]
fn both_sides_send_what_is_deployed() {
    for is_tls13 in [false, true] {
        let tunnel = Plain { is_tls13, ..Plain::default() };
        for binding in BINDINGS {
            let ended = converse(peer(&tunnel, binding), server(&tunnel, binding));
            let length = if binding == Binding::Off { "0b" } else { "47" };
            let expected = [
                "01",
                "01 alice@lab",
                "1a 01",
                "1a 02",
                "1a 03",
                "1a 03",
                &format!("010700{length}21800300020001"),
                &format!("020700{length}21800300020001"),
            ];
            assert_eq!(outline(&ended.inside), expected);
            let keys = ended.peer.unwrap();
            assert_eq!(Ok(&keys), ended.server.as_ref());
            assert_eq!(keys.msk.as_deref().map(<[u8]>::len), Some(64));
            assert_eq!(keys.emsk.is_none(), binding != Binding::Off, "CSK has no second key");
        }
    }
}

#[test]
fn cryptobinding_counts_if_both_sides_do_it() {
    let tunnel = Plain::default();
    let keys = |ours, theirs| {
        let ended = converse(peer(&tunnel, ours), server(&tunnel, theirs));
        (ended.peer.map(|keys| keys.msk), ended.server.map(|keys| keys.msk))
    };
    let (unbound, _) = keys(Binding::Off, Binding::Off);
    for (ours, theirs) in [(Binding::Off, Binding::Optional), (Binding::Optional, Binding::Off)] {
        assert_eq!(keys(ours, theirs), (unbound.clone(), unbound.clone()));
    }
    for (ours, theirs) in [(Binding::Required, Binding::Optional), (Binding::Optional, Binding::Required)] {
        let (ours, theirs) = keys(ours, theirs);
        assert!(ours == theirs && ours.is_ok() && ours != unbound);
    }
    let none = Err(Reason("EAP-PEAP no cryptobinding"));
    assert_eq!(
        keys(Binding::Required, Binding::Off),
        (none.clone(), Err(Reason("EAP-PEAP peer refused the result")))
    );
    // The peer that does not check it is satisfied, the server is not: no Success is sent.
    assert_eq!(keys(Binding::Off, Binding::Required), (unbound, none));
}

#[test]
fn a_resumed_tunnel_needs_no_password() {
    for is_tls13 in [false, true] {
        let tunnel = Plain { is_tls13, vouched: Some("bob"), ..Plain::default() };
        for binding in BINDINGS {
            let mut peer = fresh_peer(&tunnel, binding, "wrong");
            peer.take(&START);
            peer.hear(b"S");
            let ended = converse(peer, server(&tunnel, binding));
            match (is_tls13, binding) {
                (false, _) => assert_eq!(ended.inside.len(), 2, "Result on both sides"),
                // Only the inner method binds anything there, and now the password is wrong.
                (true, Binding::Required) => {
                    assert_eq!(ended.server, Err(Reason::WRONG_PASSWORD));
                    continue;
                }
                (true, _) => assert_eq!(ended.inside, [vec![0], vec![]]),
            }
            assert!(ended.peer.is_ok());
            assert_eq!(ended.peer, ended.server);
            // The identity of a resumed conversation is that of the original, whatever is claimed outside.
            assert_eq!(ended.identity.as_deref(), Some(&b"bob"[..]));
        }
    }
}

/// FreeRADIUS sends success as the byte of RFC 9190 §2.5 and then, after its acknowledgement, as a result.
#[test]
fn the_success_of_a_resumed_tunnel_may_be_sent_twice() {
    let tunnel = Plain { is_tls13: true, vouched: Some("bob"), ..Plain::default() };
    let resumed = || {
        let mut peer = fresh_peer(&tunnel, Binding::Optional, "wrong");
        peer.take(&START);
        peer.hear(b"S");
        let PeerStep::Satisfied(acknowledgement, keys) = peer.hear(&[0]) else { panic!("not satisfied") };
        assert_eq!(acknowledgement, [0]);
        (peer, keys)
    };
    let (mut peer, keys) = resumed();
    let answer = [&[0][..], &extensions(2, &hex("8003 0002 0001"))].concat();
    assert_eq!(peer.hear(&success(None)), PeerStep::Satisfied(answer, keys));
    let (mut peer, _) = resumed();
    check_refused(&peer.hear(&extensions(1, &hex("8003 0002 0002"))), "EAP Failure");
    // RFC 9427 §4: an inner method replaces the byte, and does not follow it.
    let (mut peer, _) = resumed();
    assert_eq!(peer.hear(&[1]), PeerStep::Failed(Some(vec![0]), Reason("EAP-PEAP unexpected message")));
}

#[test]
fn a_wrong_password_is_refused_and_acknowledged() {
    let tunnel = Plain::default();
    let mut wrong = fresh_peer(&tunnel, Binding::Optional, "wrong");
    wrong.take(&START);
    wrong.hear(b"S");
    wrong.hear(b"F");
    let ended = converse(wrong, server(&tunnel, Binding::Optional));
    let last = ["1a 04", "1a 04", "0107000b21800300020002", "0207000b21800300020002"];
    assert_eq!(outline(&ended.inside)[4..], last);
    assert_eq!(ended.server, Err(Reason::WRONG_PASSWORD));
    assert_eq!(ended.peer, Err(Reason::WRONG_PASSWORD));
}

#[test]
fn a_man_in_the_middle_of_two_tunnels_is_detected() {
    let (ours, theirs) = (Plain::default(), Plain { secret: 1, ..Plain::default() });
    // It forwards everything; without Cryptobinding it is not detected, with it the peer detects it.
    let ended = converse(peer(&ours, Binding::Off), server(&theirs, Binding::Off));
    assert!(ended.peer.is_ok() && ended.server.is_ok() && ended.peer != ended.server);
    let ended = converse(peer(&ours, Binding::Optional), server(&theirs, Binding::Optional));
    assert_eq!(ended.peer, Err(Reason("EAP-PEAP wrong cryptobinding")));
    assert_eq!(ended.server, Err(Reason("EAP-PEAP peer refused the result")));
}

#[test]
fn freeradius_asks_for_the_identity_with_a_whole_packet() {
    let mut peer = peer(&Plain::default(), Binding::Optional);
    let answer = [&[0, 1][..], USER.as_bytes()].concat();
    assert_eq!(peer.hear(&[1, 8, 0, 5, 1]), PeerStep::Continue(answer));
}

/// Only an exact whole packet is taken for one: inside PEAPv0 a type comes first, and 1 is Identity's.
#[test]
fn bytes_that_only_begin_like_a_packet_are_none() {
    for longer in [&[1, 8, 0, 5, 1, 9][..], &[1, 8, 0, 6, 1, 9]] {
        let answer = [&[0, 1][..], USER.as_bytes()].concat();
        let step = peer(&Plain::default(), Binding::Optional).hear(longer);
        assert_eq!(step, PeerStep::Continue(answer), "the type is Identity, and the rest its text");
    }
    let (mut server, _) = server(&Plain::default(), Binding::Optional);
    // A response of type 4 in a whole packet: type 2, Notification, which was not requested.
    let step = server.hear(&[2, IDENTIFIER, 0, 6, 4, 9]);
    assert_ne!(step, ServerStep::Failed(Reason("EAP-PEAP malformed message")), "not read as extensions");
}

/// A success with a whole packet around it.
fn success(binding: Option<CryptoBinding>) -> Vec<u8> {
    extensions(1, &Extensions::verdict(Verdict::Success, binding).write())
}

fn extensions(code: u8, data: &[u8]) -> Vec<u8> {
    let length = 5 + data.len() as u8;
    [&[code, IDENTIFIER, 0, length, 33], data].concat()
}

/// Asserts that the peer sends Failure inside, and has failed.
fn check_refused(step: &PeerStep, reason: &'static str) {
    let failure = [&[0][..], &extensions(2, &hex("8003 0002 0002"))].concat();
    assert_eq!(*step, PeerStep::Failed(Some(failure), Reason(reason)));
}

#[test]
fn a_success_before_the_inner_method_is_refused() {
    for is_tls13 in [false, true] {
        let tunnel = Plain { is_tls13, ..Plain::default() };
        for inside in [
            &[][..],
            &[&[1][..]],
            &[&[1], &[26, 1, 1, 0, 21, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]],
        ] {
            let mut peer = peer(&tunnel, Binding::Optional);
            for data in inside {
                assert!(matches!(peer.hear(data), PeerStep::Continue(_)));
            }
            check_refused(&peer.hear(&success(None)), "EAP-PEAP success before the inner method's");
        }
        // Nor is the byte for a resumed tunnel's success accepted in a full one: there it is no type.
        let step = peer(&tunnel, Binding::Off).hear(&[0]);
        assert!(matches!(step, PeerStep::Continue(_)), "a Nak: {step:?}");
    }
}

/// A peer that waits for the result, and the result of a good server.
fn before_the_result(binding: Binding) -> (Seat<dyn PeerMethod>, Vec<u8>) {
    let tunnel = Plain::default();
    let (mut peer, (mut server, mut said)) = (peer(&tunnel, binding), server(&tunnel, Binding::Optional));
    loop {
        let ServerStep::Request(request) = said else { panic!("{said:?}") };
        if request.get(5) == Some(&33) {
            return (peer, request[1..].to_vec());
        }
        let PeerStep::Continue(response) = peer.take(&request) else { panic!("not yet") };
        said = server.take(&response);
    }
}

#[test]
fn a_result_that_lacks_something_is_refused() {
    let lacking = |binding, data: &[u8]| before_the_result(binding).0.hear(data);
    check_refused(&lacking(Binding::Required, &success(None)), "EAP-PEAP no cryptobinding");
    check_refused(&lacking(Binding::Optional, &extensions(1, &hex("8003 0002 0002"))), "EAP Failure");
    let foreign = BindingKeys::resumed(&[7; 64]);
    let foreign =
        CryptoBinding::new(Subtype::Request, &[1; 32], &foreign, &mut keytoll_crypto::Real::default());
    let step = lacking(Binding::Optional, &success(Some(foreign)));
    check_refused(&step, "EAP-PEAP wrong cryptobinding");
    for data in [&[][..], &[0, 7, 0, 0]] {
        let step = lacking(Binding::Optional, &extensions(1, data));
        assert_eq!(step, PeerStep::Failed(Some(vec![0]), Reason("EAP-PEAP extensions without result")));
    }
    let step = lacking(Binding::Optional, &extensions(1, &hex("8003 0002 0009")));
    assert_eq!(step, PeerStep::Failed(Some(vec![0]), Reason("EAP-PEAP malformed message")));
}

#[test]
fn an_unknown_mandatory_tlv_is_answered_and_the_peer_waits_on() {
    let (mut peer, result) = before_the_result(Binding::Required);
    let unknown = extensions(1, &hex("8003 0002 0001 8009 0000"));
    let nak = [&[0][..], &extensions(2, &hex("8004 0006 00000000 0009"))].concat();
    assert_eq!(peer.hear(&unknown), PeerStep::Continue(nak));
    assert!(matches!(peer.hear(&result), PeerStep::Satisfied(..)));
}

#[test]
fn a_server_without_the_password_is_refused() {
    let mut peer = peer(&Plain::default(), Binding::Off);
    peer.hear(&[1]);
    peer.hear(&[&[26, 1, 1, 0, 21, 16][..], &[9; 16]].concat());
    let text = b"S=0000000000000000000000000000000000000000 M=OK";
    let proof = [&[26, 3, 1, 0, 4 + text.len() as u8][..], text].concat();
    assert_eq!(peer.hear(&proof), PeerStep::Failed(Some(vec![0]), Reason::SERVER_NOT_AUTHENTIC));
}

/// A server that waits for the peer's result, and the result of a good peer.
fn before_the_peers_result(binding: Binding) -> (Seat<dyn ServerMethod>, Vec<u8>) {
    let tunnel = Plain::default();
    let (mut peer, (mut server, mut said)) = (peer(&tunnel, Binding::Optional), server(&tunnel, binding));
    loop {
        let ServerStep::Request(request) = said else { panic!("{said:?}") };
        match peer.take(&request) {
            PeerStep::Continue(response) => said = server.take(&response),
            PeerStep::Satisfied(response, _) => return (server, response[1..].to_vec()),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_server_requires_the_peer_s_result() {
    let check = |binding, data: &[u8], expected| {
        let step = before_the_peers_result(binding).0.hear(data);
        assert_eq!(step, ServerStep::Failed(Reason(expected)));
    };
    let said = |data: &str| extensions(2, &hex(data));
    check(Binding::Optional, &said("8003 0002 0002"), "EAP-PEAP peer refused the result");
    check(Binding::Optional, &said("000c 0038"), "EAP-PEAP malformed message");
    check(Binding::Optional, &said("8004 0006 00000000 0003"), "EAP-PEAP extensions without result");
    check(Binding::Required, &said("8003 0002 0001"), "EAP-PEAP no cryptobinding");
    check(Binding::Optional, &[1, 0x61], "EAP-PEAP unexpected message");
    check(Binding::Optional, &[], "EAP-PEAP unexpected message");
    let (mut server, mut good) = before_the_peers_result(Binding::Optional);
    *good.last_mut().unwrap() ^= 1;
    assert_eq!(server.hear(&good), ServerStep::Failed(Reason("EAP-PEAP wrong cryptobinding")));
}

#[test]
fn a_result_instead_of_a_proof_is_refused() {
    let (mut server, said) = server(&Plain::default(), Binding::Off);
    assert_eq!(said, ServerStep::Request(vec![0, 1]));
    let step = server.hear(&extensions(2, &hex("8003 0002 0001")));
    assert_eq!(step, ServerStep::Failed(Reason("EAP-PEAP unexpected message")));
}

#[test]
fn truncated_results_are_refused() {
    let (_, whole) = before_the_result(Binding::Optional);
    for len in 0..whole.len() {
        let step = before_the_result(Binding::Optional).0.hear(&whole[..len]);
        assert!(!matches!(step, PeerStep::Satisfied(..)), "{len}: {step:?}");
    }
    let (_, whole) = before_the_peers_result(Binding::Optional);
    for len in 0..whole.len() {
        let step = before_the_peers_result(Binding::Optional).0.hear(&whole[..len]);
        assert!(matches!(step, ServerStep::Failed(_)), "{len}: {step:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn nothing_but_the_password_satisfies_anybody(
        messages in prop::collection::vec(messages(), 1..8), is_tls13: bool, binding in prop::sample::select(&BINDINGS[..]),
    ) {
        let tunnel = Plain { is_tls13, ..Plain::default() };
        let (mut peer, (mut server, _)) = (peer(&tunnel, binding), server(&tunnel, binding));
        for message in messages {
            let step = peer.hear(&message);
            prop_assert!(!matches!(step, PeerStep::Satisfied(..)), "{:x?}", message);
            let step = server.hear(&message);
            prop_assert!(!matches!(step, ServerStep::Done(_)), "{:x?}", message);
        }
    }

    #[test]
    fn a_changed_result_satisfies_nobody_who_wants_it_bound(at in 5_usize..71, bit in 0_u8..8) {
        let (mut peer, mut result) = before_the_result(Binding::Required);
        result[at] ^= 1 << bit;
        let step = peer.hear(&result);
        // The mandatory bit and the reserved bit of a TLV change nothing where no MAC covers them.
        let harmless = at == 5 && bit >= 6;
        prop_assert!(harmless || !matches!(step, PeerStep::Satisfied(..)), "{} {}: {:?}", at, bit, step);
    }
}

/// Arbitrary bytes, and bytes that begin like messages.
fn messages() -> impl Strategy<Value = Vec<u8>> {
    let tail = || prop::collection::vec(any::<u8>(), 0..80);
    let whole = (1_u8..3, tail()).prop_map(|(code, data)| extensions(code, &data));
    let verdict = (1_u8..3, 0_u8..4).prop_map(|(code, value)| extensions(code, &[0x80, 3, 0, 2, 0, value]));
    let typed = (prop::sample::select(&[0_u8, 1, 3, 4, 26][..]), tail())
        .prop_map(|(kind, data)| [&[kind][..], &data].concat());
    prop_oneof![tail(), whole, verdict, typed]
}
