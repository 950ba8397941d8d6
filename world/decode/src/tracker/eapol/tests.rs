//! Who is whose, and what it comes to.

use keytoll_eap::packet::{MethodType, failure, request, response, success};
use keytoll_engine::Datagram;
use keytoll_family::{LinkSeal, Outcome};
use keytoll_net::Addr;
use keytoll_radius::RADIUS;
use keytoll_rigs::FAMILIES;
use keytoll_wlan::names::EAPOL;
use proptest::prelude::*;

use super::*;
use crate::facts;

const GROUP: Addr = Addr::Mac([0x01, 0x80, 0xc2, 0, 0, 3]);
const AUTHENTICATOR: Addr = Addr::Mac([2, 0, 0, 0, 0, 0xa]);

const fn supplicant(number: u8) -> Addr {
    Addr::Mac([2, 0, 0, 0, 1, number])
}

/// How a station is spoken to.
#[derive(Clone, Copy, Debug)]
enum To {
    Group,
    Station,
    /// As in cooked captures.
    Nobody,
}

struct Lan {
    tracker: Tracker,
    frame: u64,
}

impl Default for Lan {
    fn default() -> Self {
        Self { tracker: Tracker::new(Keys::none(FAMILIES)), frame: 0 }
    }
}

impl Lan {
    fn pass(&mut self, from: Addr, to: Option<Addr>, kind: u8, body: &[u8]) -> &mut Self {
        self.frame += 1;
        let length = u16::try_from(body.len()).unwrap().to_be_bytes();
        let bytes = [&[2, kind], &length[..], body].concat();
        let at_ns = self.frame * 1_000_000;
        self.tracker.add(&Passed {
            first_ns: at_ns,
            at_ns,
            frame: self.frame,
            packets: 1,
            wire_bytes: u32::try_from(bytes.len()).unwrap(),
            datagram: Datagram { protocol: EAPOL, from, to: to.unwrap_or(from), bytes },
            is_receiver_known: to.is_some(),
            seal: LinkSeal::None,
            cut: None,
            fate: None,
        });
        self
    }

    fn up(&mut self, number: u8, to: To, kind: u8, body: &[u8]) -> &mut Self {
        self.pass(supplicant(number), to.of(AUTHENTICATOR), kind, body)
    }

    fn down(&mut self, number: u8, to: To, kind: u8, body: &[u8]) -> &mut Self {
        self.pass(AUTHENTICATOR, to.of(supplicant(number)), kind, body)
    }

    /// An authentication with MD5, up to its end.
    fn md5(&mut self, number: u8, (up, down): (To, To), first: u8) -> &mut Self {
        self.up(number, up, 1, &[])
            .down(number, down, 0, &request(first, MethodType::IDENTITY, b""))
            .up(number, up, 0, &response(first, MethodType::IDENTITY, b"ue@lab"))
            .down(number, down, 0, &request(first + 1, MethodType::MD5, &[16; 17]))
            .up(number, up, 0, &response(first + 1, MethodType::MD5, &[16; 17]))
    }

    fn key(&mut self, information: u16, counter: u8, nonce: u8, data_len: u8) -> &mut Self {
        let fixed = [&[2], &information.to_be_bytes()[..], &[0, 16, 0, 0, 0, 0, 0, 0, 0, counter]].concat();
        let data = [&[0, data_len][..], &vec![5; data_len.into()]].concat();
        let body = [fixed, vec![nonce; 32], vec![0; 16 + 8 + 8 + 16], data].concat();
        match information & 0x80 {
            0 => self.up(1, To::Station, 3, &body),
            _ => self.down(1, To::Station, 3, &body),
        }
    }

    fn handshake(&mut self, counter: u8, nonce: u8) -> &mut Self {
        self.key(0x008a, counter, nonce, 22)
            .key(0x010a, counter, nonce + 1, 22)
            .key(0x13ca, counter + 1, nonce, 56)
            .key(0x030a, counter + 1, 0, 0)
    }

    fn finish(&mut self) -> Vec<Conversation> {
        std::mem::replace(&mut self.tracker, Tracker::new(Keys::none(FAMILIES))).finish()
    }
}

impl To {
    fn of(self, station: Addr) -> Option<Addr> {
        match self {
            Self::Group => Some(GROUP),
            Self::Station => Some(station),
            Self::Nobody => None,
        }
    }
}

fn methods(conversations: &[Conversation]) -> Vec<String> {
    conversations.iter().filter_map(|it| it.judgement.method.clone()).map(|method| method.name).collect()
}

/// IEEE 802.1X-2004 §8.4.9: with dynamic WEP nothing can be sent before the station has its own key.
#[test]
fn with_dynamic_wep_it_is_established_by_the_key_and_not_by_the_end_of_eap() {
    // Descriptor, length of the key, replay counter, IV, index, signature, key.
    let key = |counter: u8, index: u8| {
        [&[1, 0, 13, 0, 0, 0, 0, 0, 0, 0, counter][..], &[counter; 16], &[index], &[7; 16], &[9; 13]].concat()
    };
    let mut lan = Lan::default();
    lan.md5(1, (To::Station, To::Station), 1).down(1, To::Station, 0, &success(2));
    lan.down(1, To::Station, 3, &key(1, 1)).down(1, To::Station, 3, &key(2, 0x80));
    let conversations = lan.finish();
    assert_eq!(conversations.len(), 1);
    assert_eq!(conversations[0].judgement.outcome, Outcome::Established(7));
}

#[test]
fn however_stations_are_spoken_to_it_is_one_conversation() {
    for ways in [
        (To::Station, To::Station),
        (To::Group, To::Station),
        (To::Station, To::Group),
        (To::Group, To::Group),
        (To::Nobody, To::Nobody),
    ] {
        let mut lan = Lan::default();
        lan.md5(1, ways, 1).down(1, ways.1, 0, &success(2));
        let conversations = lan.finish();
        assert_eq!(conversations.len(), 1, "{ways:?}");
        let [conversation] = &conversations[..] else { panic!("there is one") };
        assert_eq!(conversation.judgement.outcome, Outcome::Established(5), "{ways:?}");
        assert_eq!(conversation.about.user.as_deref(), Some("ue@lab"));
        let hosts: Vec<String> = conversation.hosts.values().flatten().map(ToString::to_string).collect();
        assert_eq!(hosts, [supplicant(1).to_string(), AUTHENTICATOR.to_string()]);
        assert!(!conversation.entries.iter().any(|entry| entry.unanswered), "{ways:?}");
        assert_eq!(methods(&conversations), ["eapol-eap-md5"]);
    }
}

#[test]
fn supplicants_side_by_side_are_told_apart() {
    let mut lan = Lan::default();
    let [one, two] = [1, 2];
    lan.up(one, To::Group, 1, &[]).up(two, To::Group, 1, &[]);
    for number in [one, two] {
        lan.down(number, To::Station, 0, &request(9, MethodType::IDENTITY, b""));
    }
    for number in [two, one] {
        lan.up(number, To::Group, 0, &response(9, MethodType::IDENTITY, &[b'0' + number]));
    }
    lan.down(one, To::Station, 0, &success(9)).down(two, To::Station, 0, &failure(9));
    let conversations = lan.finish();
    let ends: Vec<_> = conversations
        .iter()
        .map(|it| (it.about.user.clone().unwrap(), it.judgement.outcome.clone()))
        .collect();
    let failed = Outcome::Failed { by: Node::Gw, why: "EAP-Failure".to_owned(), at: 3 };
    assert_eq!(ends, [("1".to_owned(), Outcome::Established(3)), ("2".to_owned(), failed)]);
}

#[test]
fn the_next_authentication_is_another_conversation_though_its_words_are_the_same() {
    let mut lan = Lan::default();
    for _ in 0..3 {
        lan.md5(1, (To::Group, To::Group), 1).down(1, To::Group, 0, &success(2));
    }
    let conversations = lan.finish();
    assert_eq!(conversations.len(), 3);
    for conversation in &conversations {
        assert_eq!(
            (conversation.entries.len(), &conversation.judgement.outcome),
            (6, &Outcome::Established(5))
        );
        assert!(conversation.entries.iter().all(|entry| entry.repeats.is_none()));
    }
}

#[test]
fn what_is_sent_again_is_marked_and_what_nobody_answers_too() {
    let mut lan = Lan::default();
    let ask = request(1, MethodType::IDENTITY, b"");
    let tell = response(1, MethodType::IDENTITY, b"ue@lab");
    lan.up(1, To::Group, 1, &[]).up(1, To::Group, 1, &[]);
    lan.down(1, To::Station, 0, &ask).down(1, To::Station, 0, &ask);
    lan.up(1, To::Group, 0, &tell).up(1, To::Group, 0, &tell);
    let [conversation] = &lan.finish()[..] else { panic!("there is one") };
    let marks: Vec<_> =
        conversation.entries.iter().map(|entry| (entry.frame, entry.repeats, entry.unanswered)).collect();
    let wanted = [
        (1, None, false),
        (2, Some(1), false),
        (3, None, false),
        (4, Some(3), false),
        (5, None, true),
        (6, Some(5), true),
    ];
    assert_eq!(marks, wanted);
    assert_eq!(conversation.judgement.outcome, Outcome::Unanswered(5));
    let sent = conversation.entries.iter().filter_map(|entry| entry.sent.as_ref());
    assert_eq!(sent.filter(|sent| sent.is_retransmission()).count(), 3);
}

#[test]
fn handshakes_belong_to_the_authentication_whose_key_they_use() {
    let mut lan = Lan::default();
    let ways = (To::Station, To::Station);
    lan.md5(1, ways, 1).down(1, ways.1, 0, &success(2)).handshake(1, 40);
    // The group key, told anew twice; then a new pairwise key.
    lan.key(0x1382, 3, 9, 40).key(0x0302, 3, 0, 0).key(0x1382, 4, 9, 40).key(0x0302, 4, 0, 0);
    lan.handshake(5, 50).up(1, ways.0, 2, &[]);
    let [conversation] = &lan.finish()[..] else { panic!("there is one") };
    assert_eq!((conversation.entries.len(), &conversation.judgement.outcome), (19, &Outcome::Established(5)));
    assert!(conversation.entries.iter().all(|entry| entry.repeats.is_none() && !entry.unanswered));
}

#[test]
fn without_eap_each_handshake_is_an_authentication() {
    let mut lan = Lan::default();
    // Message 1 is sent again under another counter.
    lan.key(0x008a, 1, 40, 22).key(0x008a, 2, 40, 22);
    lan.key(0x010a, 2, 41, 22).key(0x13ca, 3, 40, 56).key(0x030a, 3, 0, 0);
    lan.handshake(1, 60).key(0x008a, 1, 70, 22);
    let conversations = lan.finish();
    let ends: Vec<_> = conversations.iter().map(|it| it.judgement.outcome.clone()).collect();
    assert_eq!(ends, [Outcome::Established(4), Outcome::Established(3), Outcome::Unanswered(0)]);
    assert_eq!(conversations[0].entries[1].repeats, Some(1));
    assert_eq!(methods(&conversations), ["eapol-4-way-handshake"; 3]);
}

#[test]
fn the_authenticator_that_asks_over_radius_is_the_same() {
    let mut lan = Lan::default();
    let tell = response(1, MethodType::IDENTITY, b"ue@lab");
    lan.down(1, To::Station, 0, &request(1, MethodType::IDENTITY, b"")).up(1, To::Group, 0, &tell);
    for (code, eap) in [(1, &tell[..]), (3, &failure(1))] {
        let length = u8::try_from(22 + eap.len()).unwrap();
        let attribute = [&[79, u8::try_from(eap.len() + 2).unwrap()], eap].concat();
        let bytes = [&[code, 7, 0, length][..], &[code; 16], &attribute].concat();
        let addr = |last, port| Addr::udp([10, 0, 0, last].into(), port);
        let ends = [addr(1, 4000), addr(2, 1812)];
        let (from, to) = if code == 1 { (ends[0], ends[1]) } else { (ends[1], ends[0]) };
        lan.frame += 1;
        let at_ns = lan.frame * 1_000_000;
        let datagram = Datagram { protocol: RADIUS, from, to, bytes };
        lan.tracker.add(&Passed {
            first_ns: at_ns,
            at_ns,
            frame: lan.frame,
            packets: 1,
            wire_bytes: 60,
            datagram,
            is_receiver_known: true,
            seal: LinkSeal::None,
            cut: None,
            fate: None,
        });
    }
    lan.down(1, To::Station, 0, &failure(1));
    let [conversation] = &lan.finish()[..] else { panic!("there is one") };
    let failed = Outcome::Failed { by: Node::Aaa, why: "Access-Reject".to_owned(), at: 4 };
    assert_eq!((&*conversation.kind.name, &conversation.judgement.outcome), ("eapol", &failed));
    let roles: Vec<Node> = conversation.hosts.keys().copied().collect();
    assert_eq!(roles, [Node::Ue, Node::Gw, Node::Aaa]);
}

#[test]
fn who_only_leaves_is_no_authentication() {
    let mut lan = Lan::default();
    lan.up(1, To::Group, 2, &[]);
    let conversations = lan.finish();
    assert_eq!(conversations.len(), 1);
    assert_eq!(methods(&conversations), [""; 0]);
}

proptest! {
    #[test]
    fn whatever_is_said_every_pdu_is_in_one_conversation(
        said in prop::collection::vec(
            (0_u8..4, 0_u8..5, 0_u8..4, prop::collection::vec(0_u8..6, 0..8), any::<bool>()),
            0..60,
        ),
    ) {
        let mut lan = Lan::default();
        for (from, to, kind, body, is_eap) in &said {
            let to = [Some(GROUP), None, Some(supplicant(0)), Some(supplicant(1)), Some(AUTHENTICATOR)][usize::from(*to)];
            let length = u8::try_from(body.len() + 5).unwrap();
            let eap = [&[1 + kind, 1, 0, length, 1][..], body].concat();
            let (kind, body) = if *is_eap { (0, &eap) } else { (*kind, body) };
            lan.pass(supplicant(*from), to, kind, body);
        }
        let conversations = lan.finish();
        prop_assert_eq!(conversations.iter().map(|it| it.entries.len()).sum::<usize>(), said.len());
        for conversation in &conversations {
            prop_assert!(!facts::records(conversation, 0, 0).is_empty());
        }
    }
}
