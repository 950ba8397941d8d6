//! What belongs together, and what it comes to.

use std::time::Duration;

use keytoll_capture::remarks::Remarks;
use keytoll_engine::Datagram;
use keytoll_engine::trace::{Fate, Protocol};
use keytoll_family::{Ends, LinkSeal, Outcome};
use keytoll_ike::IKE;
use keytoll_ike::number::{ExchangeType, NotifyType, PayloadType};
use keytoll_ike::wire::{Encrypted, Flags, Header, MessageBuilder, Nonce, Notify, Payload};
use keytoll_net::Addr;
use keytoll_radius::RADIUS;
use keytoll_rigs::FAMILIES;

use super::*;
use crate::passage;

/// What is said of a refusal that cannot be read.
const SEALED: &str = "refused or ended by an encrypted message";

const UE: &str = "10.0.0.1";
const GW: &str = "10.0.0.2";
const GW_INSIDE: &str = "10.1.0.2";
const AAA: &str = "10.1.0.3";

/// A capture being written.
struct Wire {
    tracker: Tracker,
    at_ms: u64,
    frame: u64,
    /// What the file says of the next packets.
    comment: Option<String>,
}

impl Default for Wire {
    fn default() -> Self {
        let tracker = Tracker::new(Keys::none(FAMILIES));
        Self { tracker, at_ms: 0, frame: 0, comment: None }
    }
}

impl Wire {
    fn pass(&mut self, protocol: Protocol, from: (&str, u16), to: (&str, u16), bytes: Vec<u8>) -> &mut Self {
        self.at_ms += 10;
        self.frame += 1;
        let addr = |(ip, port): (&str, u16)| Addr::udp(ip.parse().unwrap(), port);
        let wire_bytes = bytes.len() as u32 + 28;
        let datagram = Datagram { protocol, from: addr(from), to: addr(to), bytes };
        let at_ns = self.at_ms * 1_000_000;
        let frame = self.frame;
        self.tracker.add(&Passed {
            first_ns: at_ns,
            at_ns,
            frame,
            packets: 1,
            wire_bytes,
            datagram,
            is_receiver_known: true,
            seal: LinkSeal::None,
            cut: None,
            fate: self.comment.as_deref().and_then(passage::fate),
        });
        self
    }

    fn ike(
        &mut self,
        from_ue: bool,
        spis: (u64, u64),
        exchange: ExchangeType,
        id: u32,
        payloads: &[Payload<'_>],
    ) -> &mut Self {
        let mut message =
            MessageBuilder::plain(&Header::new(spis, exchange, Flags::new(from_ue, !from_ue), id));
        payloads.iter().for_each(|payload| message.push(payload));
        let (from, to) = if from_ue { (UE, GW) } else { (GW, UE) };
        self.pass(IKE, (from, 500), (to, 500), message.finish())
    }

    fn sa_init(&mut self, spis: (u64, u64)) -> &mut Self {
        let nonce = Payload::Nonce(Nonce { data: &[6; 16] });
        self.ike(true, (spis.0, 0), ExchangeType::IKE_SA_INIT, 0, &[nonce]);
        self.ike(false, spis, ExchangeType::IKE_SA_INIT, 0, &[nonce])
    }

    fn auth(&mut self, from_ue: bool, spis: (u64, u64), id: u32, first: PayloadType) -> &mut Self {
        let sk = Payload::Encrypted(Encrypted { first, body: &[id as u8; 64] });
        self.ike(from_ue, spis, ExchangeType::IKE_AUTH, id, &[sk])
    }

    fn radius(&mut self, from_gw: bool, code: u8, identifier: u8, attributes: &[u8]) -> &mut Self {
        let length = 20 + attributes.len() as u8;
        let bytes = [&[code, identifier, 0, length][..], &[identifier; 16], attributes].concat();
        let (client, server) = ((GW_INSIDE, 4000), (AAA, 1812));
        let (from, to) = if from_gw { (client, server) } else { (server, client) };
        self.pass(RADIUS, from, to, bytes)
    }

    fn finish(&mut self) -> Vec<Conversation> {
        std::mem::replace(&mut self.tracker, Tracker::new(Keys::none(FAMILIES))).finish()
    }
}

const SPIS: (u64, u64) = (7, 8);

fn names(conversation: &Conversation) -> Vec<&str> {
    conversation.entries.iter().map(|entry| &*entry.name).collect()
}

#[test]
fn a_refusal_in_the_clear_is_the_outcome() {
    let mut wire = Wire::default();
    wire.ike(true, (7, 0), ExchangeType::IKE_SA_INIT, 0, &[]);
    let refusal = Payload::Notify(Notify::new(NotifyType::NO_PROPOSAL_CHOSEN, &[]));
    let conversations = wire.ike(false, SPIS, ExchangeType::IKE_SA_INIT, 0, &[refusal]).finish();
    let why = "NO_PROPOSAL_CHOSEN".to_owned();
    assert_eq!(conversations[0].judgement.outcome, Outcome::Failed { by: Node::Gw, why, at: 1 });
    assert_eq!(conversations[0].kind.name, "ikev2");
    let spis = [("spi_i", format!("{:016x}", 7)), ("spi_r", format!("{:016x}", 8))];
    assert_eq!(conversations[0].judgement.ids.ids, spis);
    assert_eq!(conversations[0].entries[1].answers_after_ns, Some(10_000_000));
}

#[test]
fn another_group_and_a_cookie_are_no_refusals() {
    let mut wire = Wire::default();
    for kind in [NotifyType::COOKIE, NotifyType::INVALID_KE_PAYLOAD] {
        wire.ike(true, (7, 0), ExchangeType::IKE_SA_INIT, 0, &[Payload::Notify(Notify::new(kind, &[1]))]);
        wire.ike(
            false,
            (7, 0),
            ExchangeType::IKE_SA_INIT,
            0,
            &[Payload::Notify(Notify::new(kind, &[0, 31]))],
        );
    }
    wire.sa_init(SPIS).auth(true, SPIS, 1, PayloadType::ID_I);
    let conversations = wire.auth(false, SPIS, 1, PayloadType::ID_R).finish();
    assert_eq!(conversations.len(), 1);
    assert_eq!(conversations[0].judgement.outcome, Outcome::Established(7));
    assert!(conversations[0].entries.iter().all(|entry| entry.repeats.is_none() && !entry.unanswered));
}

#[test]
fn without_keys_the_first_payload_of_the_last_response_decides() {
    let outcome = |first| {
        let mut wire = Wire::default();
        wire.sa_init(SPIS)
            .auth(true, SPIS, 1, PayloadType::ID_I)
            .auth(false, SPIS, 1, first)
            .finish()
            .remove(0)
            .judgement
            .outcome
    };
    assert_eq!(outcome(PayloadType::ID_R), Outcome::Established(3));
    assert!(matches!(outcome(PayloadType::NOTIFY), Outcome::Failed { by: Node::Gw, .. }));
    assert_eq!(outcome(PayloadType::EAP), Outcome::Unknown);
}

/// RFC 7296 §2.1: the device asks again until it has an answer that it accepts. Its next message shows that it has one.
#[test]
fn an_answer_that_is_asked_for_again_and_again_establishes_nothing() {
    let outcome = |script: &str| {
        let mut wire = Wire::default();
        wire.sa_init(SPIS);
        for step in script.split(' ') {
            match step {
                "ask" => wire.auth(true, SPIS, 1, PayloadType::ID_I),
                "answer" => wire.auth(false, SPIS, 1, PayloadType::ID_R),
                _ => {
                    let sk = Payload::Encrypted(Encrypted { first: PayloadType::DELETE, body: &[9; 64] });
                    wire.ike(true, SPIS, ExchangeType::INFORMATIONAL, 2, &[sk])
                }
            };
        }
        wire.finish().remove(0).judgement.outcome
    };
    assert_eq!(outcome("ask answer"), Outcome::Established(3));
    // The first answer was lost.
    assert_eq!(outcome("ask answer ask answer"), Outcome::Established(3));
    assert_eq!(outcome("ask ask ask answer"), Outcome::Established(5));
    assert_eq!(outcome("ask answer ask"), Outcome::Unanswered(4));
    assert_eq!(outcome("ask answer ask answer ask answer"), Outcome::Unanswered(6));
    assert_eq!(outcome("ask answer ask answer ask answer delete"), Outcome::Established(3));
}

#[test]
fn what_is_sent_again_points_to_the_first_and_the_last_stays_unanswered() {
    let mut wire = Wire::default();
    wire.sa_init(SPIS);
    for _ in 0..3 {
        wire.auth(true, SPIS, 1, PayloadType::ID_I);
    }
    let conversation = wire.finish().remove(0);
    let repeats: Vec<_> = conversation.entries.iter().map(|entry| entry.repeats).collect();
    assert_eq!(repeats, [None, None, None, Some(3), Some(3)]);
    assert_eq!(conversation.judgement.outcome, Outcome::Unanswered(4));
    let counts = crate::counts::of(&conversation.entries);
    let count = counts[0].1;
    assert_eq!((count.messages, count.retransmissions, count.packets), (3, 2, 5));
}

/// Attributes: User-Name, State, an EAP packet.
const USER: &[u8] = &[1, 4, b'u', b'e'];
const STATE: &[u8] = &[24, 4, 9, 9];
const EAP_SUCCESS: &[u8] = &[79, 6, 3, 1, 0, 4];

#[test]
fn a_radius_session_joins_the_ike_sa_that_waited_for_it() {
    let other = (70, 80);
    let mut wire = Wire::default();
    wire.sa_init(other).sa_init(SPIS);
    wire.auth(true, other, 1, PayloadType::ID_I).auth(true, SPIS, 1, PayloadType::ID_I);
    wire.radius(true, 1, 1, USER).radius(false, 11, 1, STATE);
    // The other one gets its answer, so the second request can only be for this one.
    wire.auth(false, other, 1, PayloadType::ID_R).auth(false, SPIS, 1, PayloadType::ID_R);
    wire.auth(true, SPIS, 2, PayloadType::EAP);
    wire.radius(true, 1, 2, &[USER, STATE].concat()).radius(false, 2, 2, EAP_SUCCESS);
    let conversations = wire.auth(false, SPIS, 2, PayloadType::AUTH).finish();
    assert_eq!(conversations.len(), 2);
    assert_eq!(names(&conversations[0]).len(), 4);
    let with_radius = names(&conversations[1]);
    assert_eq!(with_radius.iter().filter(|name| name.starts_with("Access-")).count(), 4, "{with_radius:?}");
    assert_eq!(conversations[1].about.user.as_deref(), Some("ue"));
    let roles: Vec<Node> = conversations[1].hosts.keys().copied().collect();
    assert_eq!(roles, [Node::Ue, Node::Gw, Node::Aaa]);
}

#[test]
fn a_rejection_is_the_aaa_servers() {
    let mut wire = Wire::default();
    wire.sa_init(SPIS).auth(true, SPIS, 1, PayloadType::ID_I);
    wire.radius(true, 1, 1, USER).radius(false, 3, 1, &[]);
    let conversation = wire.auth(false, SPIS, 1, PayloadType::EAP).finish().remove(0);
    let why = "Access-Reject".to_owned();
    assert_eq!(conversation.judgement.outcome, Outcome::Failed { by: Node::Aaa, why, at: 5 });
}

#[test]
fn radius_alone_is_a_conversation_of_its_own() {
    let mut wire = Wire::default();
    wire.radius(true, 1, 1, USER)
        .radius(false, 11, 1, STATE)
        .radius(true, 1, 2, STATE)
        .radius(true, 1, 2, STATE);
    let conversations = wire.radius(false, 2, 2, EAP_SUCCESS).radius(false, 2, 9, &[]).finish();
    assert_eq!(conversations[0].judgement.outcome, Outcome::Established(4));
    assert_eq!(conversations[0].entries[3].repeats, Some(3));
    assert_eq!(conversations[1].entries[0].remarks, ["answers nothing that is in this capture"]);
}

#[test]
fn spis_used_again_after_an_authentication_begin_another() {
    let mut wire = Wire::default();
    for nonce in [1, 2] {
        let nonce = [nonce; 16];
        let payloads = [Payload::Nonce(Nonce { data: &nonce })];
        wire.ike(true, (7, 0), ExchangeType::IKE_SA_INIT, 0, &payloads);
        wire.ike(false, SPIS, ExchangeType::IKE_SA_INIT, 0, &payloads);
        wire.auth(true, SPIS, 1, PayloadType::ID_I).auth(false, SPIS, 1, PayloadType::ID_R);
    }
    assert_eq!(wire.finish().len(), 2);
}

#[test]
fn long_runs_of_esp_are_summed_up() {
    let mut wire = Wire::default();
    wire.sa_init(SPIS);
    for number in 0..50_u8 {
        let ends = [(UE, 4500), (GW, 4500)];
        let (from, to) = (ends[usize::from(number % 2)], ends[usize::from(1 - number % 2)]);
        wire.pass(Protocol::ESP, from, to, vec![1, 1, 1, 1, 0, 0, 0, number]);
    }
    let conversation = wire.finish().remove(0);
    assert_eq!(conversation.entries.len(), 2 + 4 + 2);
    let packets: u64 = conversation.entries[2..].iter().map(|entry| entry.packets).sum();
    assert_eq!(packets, 50);
}

/// An IKEv1 message of nothing but its header, RFC 2408 §3.1.
fn ikev1(responder_spi: u64, exchange: u8, id: u32) -> Vec<u8> {
    let mut message = [7_u64.to_be_bytes(), responder_spi.to_be_bytes()].concat();
    message.extend_from_slice(&[0, 0x10, exchange, 0]);
    message.extend_from_slice(&id.to_be_bytes());
    message.extend_from_slice(&28_u32.to_be_bytes());
    message
}

#[test]
fn ports_tell_two_nodes_of_one_address_apart() {
    const LOOPBACK: &str = "127.0.0.1";
    let mut wire = Wire::default();
    let marked = |message: Vec<u8>| [vec![0; 4], message].concat();
    let (ue, gw) = ((LOOPBACK, 40_000), (LOOPBACK, 500));
    wire.pass(IKE, ue, gw, ikev1(0, 2, 0));
    wire.pass(IKE, gw, ue, ikev1(8, 2, 0));
    // RFC 3947 §4: to the NAT ports, the initiator first.
    let (ue, gw) = ((LOOPBACK, 40_001), (LOOPBACK, 4500));
    wire.pass(IKE, ue, gw, marked(ikev1(8, 2, 0)));
    wire.pass(IKE, gw, ue, marked(ikev1(8, 2, 0)));
    wire.pass(Protocol::ESP, ue, gw, vec![9; 40]);
    wire.pass(Protocol::ESP, gw, ue, vec![9; 40]);
    let conversations = wire.tracker.finish();
    let senders: Vec<_> = conversations[0].entries.iter().map(|entry| entry.ends.0).collect();
    assert_eq!(senders, [Node::Ue, Node::Gw].repeat(3));
}

/// Messages of IKEv1 as `I:main`, `R:quick/7`, `I:info`; `again` for the one before once more, `#3` for the fourth;
/// `I:main!` is lost, and everything in such a script says what becomes of it; `later` lets time pass, `I:esp/9` is a packet
/// of a child; `I:delete` and `R:notify/20` are informational messages in the clear, of which the number is the error.
fn isakmp(wire: &mut Wire, cookie: u8, script: &str) {
    let says_fates = script.contains('!');
    let mut said: Vec<(bool, Vec<u8>)> = Vec::new();
    for word in script.split_whitespace() {
        let (word, fate) = word.strip_suffix('!').map_or((word, Fate::Delivered), |word| (word, Fate::Lost));
        if word == "later" {
            wire.at_ms += 5000;
            continue;
        }
        let repeated = match word.strip_prefix('#') {
            Some(number) => Some(number.parse().unwrap()),
            None => (word == "again").then(|| said.len() - 1),
        };
        let number = repeated.unwrap_or(said.len());
        if repeated.is_none() {
            said.push(ikev1_of(word, cookie, said.len() as u8));
        }
        let (is_initiator, message) = said[number].clone();
        let ends = if is_initiator { (UE, GW) } else { (GW, UE) };
        let transit = Duration::from_millis(5);
        let remark = || Remarks::default().remark(Node::Ue, 0, IKE, fate, transit);
        wire.comment = says_fates.then(remark);
        let (protocol, port) = if word.contains("esp") { (Protocol::ESP, 0) } else { (IKE, 500) };
        wire.pass(protocol, (ends.0, port), (ends.1, port), message);
    }
}

/// Who sends a message, and the message.
fn ikev1_of(word: &str, cookie: u8, number: u8) -> (bool, Vec<u8>) {
    let (side, exchange) = word.split_once(':').unwrap();
    let (exchange, id) = exchange.split_once('/').unwrap_or((exchange, "0"));
    let id: u32 = id.parse().unwrap();
    let told = told_of(exchange, id as u8);
    let exchange = match exchange {
        "main" => 2,
        "aggressive" => 4,
        "info" | "notify" | "delete" => 5,
        "quick" => 32,
        "esp" => return (side == "I", [id.to_be_bytes(), [0, 0, 0, number]].concat()),
        other => panic!("{other}"),
    };
    let id = if exchange == 5 { 1000 + u32::from(number) } else { id };
    let mut message = ikev1(if number == 0 && exchange != 5 { 0 } else { 8 }, exchange, id);
    message[7] = cookie;
    // What is encrypted differs, and is not opened.
    let is_sealed = (exchange == 5 && told.is_none()) || exchange == 32;
    message[19] = u8::from(is_sealed);
    let (kind, payload) = told.unwrap_or((0, vec![number; 16]));
    message[16] = kind;
    message[27] += payload.len() as u8;
    message.extend_from_slice(&payload);
    (side == "I", message)
}

/// The payload of an informational message that says something, RFC 2408 §3.14, §3.15, after its type.
fn told_of(exchange: &str, error: u8) -> Option<(u8, Vec<u8>)> {
    let doi_and_isakmp = [0, 0, 0, 1, 1];
    match exchange {
        "notify" => Some((11, [&[0, 0, 0, 12], &doi_and_isakmp[..], &[0, 0, error]].concat())),
        "delete" => Some((12, [&[0, 0, 0, 28], &doi_and_isakmp[..], &[16, 0, 1], &[7; 16]].concat())),
        _ => None,
    }
}

fn isakmp_conversations(script: &str) -> Vec<Conversation> {
    let mut wire = Wire::default();
    isakmp(&mut wire, 1, script);
    wire.tracker.finish()
}

fn isakmp_outcome(script: &str) -> Outcome {
    let mut conversations = isakmp_conversations(script);
    assert_eq!(conversations.len(), 1, "{script}");
    conversations.remove(0).judgement.outcome
}

const MAIN: &str = "I:main R:main I:main R:main I:main R:main";

/// A file may say what it likes of the time, its end too.
#[test]
fn the_end_of_time_is_a_time() {
    for script in ["I:main I:info", "I:main R:main I:main R:main I:main R:main I:quick/1 R:info"] {
        let mut wire = Wire { at_ms: u64::MAX / 1_000_000 - 100, ..Wire::default() };
        isakmp(&mut wire, 1, script);
        assert_eq!(wire.tracker.finish().len(), 1, "{script}");
    }
}

#[test]
fn ikev1_is_judged_by_whose_turn_it_was() {
    let check = |rest: &str, wanted: Outcome| {
        assert_eq!(isakmp_outcome(&format!("{MAIN} {rest}")), wanted, "{rest}");
    };
    let sealed = |by, at| Outcome::Failed { by, why: SEALED.to_owned(), at };
    check("I:quick/1 R:quick/1 I:quick/1", Outcome::Established(8));
    check("I:quick/1 again R:quick/1 again I:quick/1", Outcome::Established(10));
    check("", Outcome::Unknown);
    // Three messages of three quick modes, each refused.
    check("I:quick/1 R:info I:quick/2 R:info I:quick/3 R:info", sealed(Node::Gw, 11));
    check("I:quick/1 R:info I:quick/2 R:quick/2 I:quick/2", Outcome::Established(10));
    check("I:quick/1 R:quick/1 I:info", sealed(Node::Ue, 8));
    check("I:quick/1 again again", Outcome::Unanswered(8));
    // What the device says when it is not its turn refuses nothing.
    check("I:quick/1 I:info R:quick/1 I:quick/1", Outcome::Established(9));
    assert_eq!(isakmp_outcome("I:main R:main I:main R:main I:main R:info"), sealed(Node::Gw, 5));
    assert_eq!(isakmp_outcome("I:main again again"), Outcome::Unanswered(2));
    assert_eq!(
        isakmp_outcome("I:aggressive R:aggressive I:aggressive I:quick/1 R:quick/1 I:quick/1"),
        Outcome::Established(5)
    );
}

#[test]
fn messages_of_ikev1_come_again_and_are_lost() {
    let check = |script: &str, wanted: Outcome| assert_eq!(isakmp_outcome(script), wanted, "{script}");
    let children = "I:quick/1 R:quick/1 I:quick/1";
    // RFC 2408 §4.1.1: the first message is asked again after its answer has passed, until its sender goes on.
    check(
        &format!("I:main R:main #0 #1 #0 #1 I:main R:main I:main R:main {children}"),
        Outcome::Established(12),
    );
    check(&format!("I:aggressive R:aggressive #0 #1 I:aggressive {children}"), Outcome::Established(7));
    // The device is satisfied once it has said the last message; the other side may never hear it.
    check(&format!("{MAIN} I:quick/1 R:quick/1 I:quick/1! #7 #8! I:info"), Outcome::Established(8));
    // A message that is lost is no turn, and neither are its repetitions.
    check("I:main! again again!", Outcome::Unanswered(2));
    check("I:main R:main! #0 #1! #0", Outcome::Unanswered(4));
    check(&format!("I:main R:main! #0 #1 I:main R:main I:main R:main {children}"), Outcome::Established(10));
    // The answer to the fifth message passes, and is asked for again and again.
    check(&format!("{MAIN} #4 #5 #4"), Outcome::Unanswered(8));
    check(&format!("{MAIN} #4 #5 {children}"), Outcome::Established(10));
}

/// Somebody who captures at the gateway does not see what is lost on its way there.
#[test]
fn what_a_capture_lacks_is_not_held_against_anybody() {
    let check = |rest: &str, wanted: Outcome| {
        assert_eq!(isakmp_outcome(&format!("{MAIN} I:quick/1 R:quick/1 {rest}")), wanted, "{rest}");
    };
    let sealed = Outcome::Failed { by: Node::Ue, why: SEALED.to_owned(), at: 8 };
    check("I:info", sealed.clone());
    // It may have said the last message long ago, and this may be a DELETE.
    check("later I:info", Outcome::Unanswered(7));
    // What goes through the child shows that it is there.
    check("I:esp/77 later I:info", Outcome::Established(8));
    check("R:esp/77 I:info", Outcome::Failed { by: Node::Ue, why: SEALED.to_owned(), at: 9 });
}

#[test]
fn exchanges_of_ikev1_are_counted_by_what_became_of_them() {
    let check = |script: &str, phase1: [u32; 4], quick_mode: [u32; 4]| {
        let exchanges = isakmp_conversations(script)[0].judgement.exchanges.clone();
        let counts = |ends: Ends| ends.named().map(|(_, count)| count);
        let counted: Vec<_> = exchanges.iter().map(|(name, ends)| (*name, counts(*ends))).collect();
        assert_eq!(counted, [("phase 1", phase1), ("quick mode", quick_mode)], "{script}");
    };
    let child = "I:quick/1 R:quick/1 I:quick/1";
    check(&format!("{MAIN} {child} I:quick/2 R:quick/2 I:quick/2 I:info"), [1, 0, 0, 0], [2, 0, 0, 0]);
    // Without keys nobody knows what an informational message says.
    check(&format!("{MAIN} I:quick/1 R:info {}", child.replace('1', "2")), [1, 0, 0, 0], [1, 0, 0, 1]);
    check(&format!("{MAIN} I:quick/1 again"), [1, 0, 0, 0], [0, 0, 1, 0]);
    check("I:main again", [0, 0, 1, 0], [0; 4]);
    check("I:main R:main", [0, 0, 0, 1], [0; 4]);
    // RFC 2409 §5.4: what refuses quick mode may refuse the last message of aggressive mode.
    let aggressive = "I:aggressive R:aggressive I:aggressive";
    check(&format!("{aggressive} I:quick/1 R:info"), [0, 0, 0, 1], [0, 0, 0, 1]);
    check(&format!("{aggressive} I:quick/1 R:quick/1 I:info"), [1, 0, 0, 0], [0, 0, 0, 1]);
    // What is said of a certificate is said of that message, and so is a DELETE that comes at once, or what does not use the keys.
    for doubts in ["notify/19", "notify/20", "notify/21", "notify/22", "notify/24", "notify/18", "delete"] {
        check(&format!("{aggressive} I:quick/1 R:{doubts}"), [0, 1, 0, 0], [0, 0, 0, 1]);
        check(&format!("{aggressive} I:quick/1 R:{doubts} I:delete"), [0, 1, 0, 0], [0, 0, 0, 1]);
    }
    for refuses in ["later R:notify/14", "later R:delete", "I:delete"] {
        check(&format!("{aggressive} I:quick/1 {refuses}"), [1, 0, 0, 0], [0, 1, 0, 0]);
    }
    // There is nothing to refuse: what is deleted may be the SA that this one replaces.
    check(&format!("{aggressive} R:delete"), [1, 0, 0, 0], [0; 4]);
    check(&format!("{aggressive} I:quick/1 R:quick/1 R:delete"), [1, 0, 0, 0], [0, 1, 0, 0]);
    check(&format!("{MAIN} I:quick/1 R:delete"), [1, 0, 0, 0], [0, 1, 0, 0]);
}

/// The old SA is still there, as what comes of it afterwards shows.
#[test]
fn an_isakmp_sa_that_should_replace_another_and_never_does_is_no_authentication() {
    let conversations = |last: &str| {
        let mut wire = Wire::default();
        isakmp(&mut wire, 1, &format!("{MAIN} I:quick/1 R:quick/1 I:quick/1 I:esp/9"));
        isakmp(&mut wire, 2, "later I:main again R:main later #0");
        if !last.is_empty() {
            isakmp(&mut wire, 1, last);
        }
        wire.tracker.finish()
    };
    for last in ["I:info", "I:esp/9"] {
        let found = conversations(last);
        assert_eq!(found.len(), 1, "{last}");
        assert_eq!(found[0].judgement.outcome, Outcome::Established(8));
        let (name, phase1) = found[0].judgement.exchanges[0];
        assert_eq!((name, phase1.established, phase1.unanswered), ("phase 1", 1, 1));
    }
    let found = conversations("");
    assert_eq!(found.len(), 2);
    assert_eq!(found[1].judgement.outcome, Outcome::Unanswered(3));
}

#[test]
fn an_isakmp_sa_that_replaces_another_is_no_authentication() {
    for initiator in ["I", "R"] {
        let mut wire = Wire::default();
        isakmp(&mut wire, 1, &format!("{MAIN} I:quick/1 R:quick/1 I:quick/1"));
        let turned = if initiator == "R" {
            MAIN.replace('I', "x").replace('R', "I").replace('x', "R")
        } else {
            MAIN.to_owned()
        };
        isakmp(&mut wire, 2, &turned);
        isakmp(&mut wire, 1, "I:info");
        let conversations = wire.tracker.finish();
        assert_eq!(conversations.len(), 1, "begun by {initiator}");
        assert_eq!(conversations[0].judgement.outcome, Outcome::Established(8));
        let senders = conversations[0].entries[9..15].iter().map(|entry| entry.ends.0).collect::<Vec<_>>();
        let first = if initiator == "I" { [Node::Ue, Node::Gw] } else { [Node::Gw, Node::Ue] };
        assert_eq!(senders, first.repeat(3));
    }
}

#[test]
fn an_isakmp_sa_with_a_child_of_its_own_is_another_authentication() {
    let mut wire = Wire::default();
    for cookie in [1, 2] {
        isakmp(&mut wire, cookie, &format!("{MAIN} I:quick/1 R:quick/1 I:quick/1"));
    }
    assert_eq!(wire.tracker.finish().len(), 2);
}
