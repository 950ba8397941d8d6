//! Authentications small enough to compute by hand, and properties of others.

use keytoll_trace::{Fate, Link, Message, Name, OperationCost, Part, Protocol, SampleCost};
use proptest::prelude::*;

use super::times::{DELAY, DELAY_WITHOUT_REPEATS, FAILED_AFTER, FIRST_PACKET, WAITING_FOR_REPEATS};
use super::*;

const UE_GW: Link = Link(Node::Ue, Node::Gw);
const GW_AAA: Link = Link(Node::Gw, Node::Aaa);

fn at(at_ns: u64, node: Node, fact: Fact) -> Record {
    Record { at_ns, node, sample: 0, fact }
}

const IKE: Protocol = Protocol::new(&"ike");
const SA_INIT: Name = Name::new(&"IKE_SA_INIT request");
const AUTH: Name = Name::new(&"IKE_AUTH request");
const CREATE_CHILD: Name = Name::new(&"CREATE_CHILD_SA request");
const INFORMATIONAL: Name = Name::new(&"INFORMATIONAL request");

const RADIUS: Protocol = Protocol::new(&"radius");
const ACCESS_REQUEST: Name = Name::new(&"Access-Request");
const ACCESS_ACCEPT: Name = Name::new(&"Access-Accept");
const ACCOUNTING_REQUEST: Name = Name::new(&"Accounting-Request");
const ACCOUNTING_RESPONSE: Name = Name::new(&"Accounting-Response");

fn sent(protocol: Protocol, name: Name) -> Message {
    Message { bytes: 200, ..Message::new(protocol, name) }
}

fn carried(link: Link, protocol: Protocol, packets: u16, bytes: u32, transit_ns: u64, fate: Fate) -> Fact {
    Fact::Carried { link, protocol, packets, bytes, transit_ns, fate }
}

fn ike(transit_ns: u64, fate: Fate) -> Fact {
    carried(UE_GW, IKE, 1, 248, transit_ns, fate)
}

fn only(records: Vec<Record>) -> Sample {
    let samples = measure(records, []);
    assert_eq!((samples.kept.len(), samples.tally.late_records, samples.tally.without_trigger), (1, 0, 0));
    samples.kept.into_iter().next().unwrap()
}

/// Trigger at 100; the device computes for 10, its request travels for 1000; the gateway computes for 50, its answer is lost;
/// at 2000 the device retransmits, which travels for 1000; the gateway retransmits the answer at once, which travels for 900, in
/// two packets, and is duplicated; the device computes for 30 and is done at 3930.
fn worked_example() -> Vec<Record> {
    let request = sent(IKE, SA_INIT);
    let answer = Message { response: true, ..sent(IKE, Name::new(&"IKE_SA_INIT response")) };
    let again = |message: &Message| Fact::Sent(Message { retransmission: true, ..message.clone() });
    vec![
        at(110, Node::Ue, Fact::Computed { busy_ns: 10 }),
        at(100, Node::Ue, Fact::Triggered),
        at(110, Node::Ue, Fact::Sent(request.clone())),
        at(110, Node::Ue, ike(1000, Fate::Delivered)),
        at(1160, Node::Gw, Fact::Computed { busy_ns: 50 }),
        at(1160, Node::Gw, Fact::Sent(answer.clone())),
        at(1160, Node::Gw, carried(UE_GW, IKE, 2, 1600, 900, Fate::Lost)),
        at(2000, Node::Ue, again(&request)),
        at(2000, Node::Ue, ike(1000, Fate::Delivered)),
        at(3000, Node::Gw, again(&answer)),
        at(3000, Node::Gw, carried(UE_GW, IKE, 2, 1600, 900, Fate::Delivered)),
        at(3000, Node::Gw, carried(UE_GW, IKE, 2, 1600, 900, Fate::Duplicate)),
        at(3930, Node::Ue, Fact::Computed { busy_ns: 30 }),
        at(3930, Node::Ue, Fact::Usable),
        at(3930, Node::Ue, carried(UE_GW, Protocol::ESP, 1, 150, 1000, Fate::Delivered)),
        at(3935, Node::Ue, Fact::Discarded { protocol: IKE, why: "message id".into() }),
        at(5930, Node::Ue, Fact::FirstPacket),
        at(9000, Node::Ue, Fact::Sent(sent(IKE, INFORMATIONAL))),
        at(9000, Node::Ue, carried(UE_GW, IKE, 1, 120, 1000, Fate::Delivered)),
    ]
}

#[test]
fn the_inputs_of_each_node_are_counted_until_the_outcome() {
    let mut records = worked_example();
    records.push(at(9500, Node::Gw, Fact::Computed { busy_ns: 999 }));
    let steps = measure(records, []).tally.steps;
    let of = |node| (steps.busy_ns[&node].n(), steps.busy_ns[&node].mean());
    assert_eq!((steps.authentications, of(Node::Ue), of(Node::Gw)), (1, (2, Some(20.0)), (1, Some(50.0))));
    let disturbed = worked_example().into_iter().chain([at(3000, Node::Gw, Fact::Disturbed)]);
    let steps = measure(disturbed, []).tally.steps;
    assert!(steps.authentications == 0 && steps.busy_ns.is_empty(), "{steps:?}");
}

#[test]
fn every_number_of_the_worked_example() {
    let sample = only(worked_example());
    assert_eq!(sample.outcome, Outcome::Established);
    assert_eq!(sample.triggered_at_ns, 100);
    assert_eq!(sample.times.get(&DELAY), Some(3830));
    assert_eq!(sample.times.get(&FIRST_PACKET), Some(5830));
    assert_eq!(sample.times.get(&WAITING_FOR_REPEATS), Some(2000 - 1160));
    assert_eq!(sample.times.get(&DELAY_WITHOUT_REPEATS), None);
    let split = sample.split.unwrap();
    assert_eq!(split.network_ns, 1000 + 1000 + 900);
    assert_eq!(split.computation_ns, BTreeMap::from([(Node::Ue, 10 + 30), (Node::Gw, 50)]));
    assert_eq!(split.waiting_ns, 2000 - 1160);
    let count =
        LinkCount { messages: 2, packets: 6, bytes: 2 * 248 + 2 * 1600, retransmissions: 2, lost_packets: 2 };
    assert_eq!(sample.links, BTreeMap::from([(UE_GW, count)]));
    assert_eq!(sample.total, count);
    assert_eq!(sample.after, LinkCount { messages: 1, packets: 1, bytes: 120, ..LinkCount::default() });
    assert_eq!((sample.discards, sample.charged, sample.disturbed), (1, true, false));
}

#[test]
fn the_ladder_of_the_worked_example() {
    let tally = measure(worked_example(), []).tally;
    let ladder = tally.ladder.unwrap();
    let hop = |hop: &Hop| (hop.from, hop.sent_ns, hop.arrived_ns, hop.bytes, hop.is_repeated());
    assert_eq!(
        ladder.hops.iter().map(hop).collect::<Vec<_>>(),
        [
            (Node::Ue, 10, Some(1010), 248, false),
            (Node::Gw, 1060, None, 1600, false),
            (Node::Ue, 1900, Some(2900), 248, true),
            (Node::Gw, 2900, Some(3800), 1600, true),
        ]
    );
    assert_eq!((ladder.hops[1].name().as_str(), ladder.hops[1].to), ("IKE_SA_INIT response", Node::Ue));
    assert_eq!((ladder.sample, ladder.outcome, ladder.left_out), (0, Outcome::Established, 0));
    let sent = [(Node::Ue, 2 * 248), (Node::Gw, 2 * 1600)].map(|(node, bytes)| ((UE_GW, node), bytes));
    assert_eq!(tally.bytes_from, BTreeMap::from(sent));
}

#[test]
fn the_first_that_was_established_is_the_example_and_what_others_cost_is_kept() {
    let refused = worked_example().into_iter().map(|record| match record.fact {
        Fact::Usable => Record { fact: Fact::Refused { why: "no".into() }, ..record },
        _ => record,
    });
    let later = worked_example().into_iter().chain(worked_example()).enumerate().map(|(place, record)| {
        let sample = 1 + u32::from(place >= worked_example().len());
        Record { at_ns: record.at_ns + 10_000 * u64::from(sample), sample, ..record }
    });
    let tally = measure(refused.chain(later), []).tally;
    assert_eq!(tally.ladder.unwrap().sample, 1);
    let failed = &tally.failed["ue: no"];
    assert_eq!((failed.after_ns.moments().mean(), failed.bytes.mean()), (Some(3830.0), Some(3696.0)));
    assert_eq!((failed.messages.mean(), failed.messages.n(), tally.failed.len()), (Some(2.0), 1, 1));
}

#[test]
fn the_kinds_of_messages_of_the_worked_example() {
    let tally = measure(worked_example(), []).tally;
    let kinds = tally.messages.kinds().iter();
    let seen =
        kinds.map(|kind| (kind.name(), kind.part, kind.to, kind.count, kind.retransmissions, kind.bytes));
    let wanted = [
        ("IKE_SA_INIT request", Part::Authentication, Some(Node::Gw), 1, 1, 200),
        ("IKE_SA_INIT response", Part::Authentication, Some(Node::Ue), 1, 1, 200),
        ("INFORMATIONAL request", Part::After, Some(Node::Gw), 1, 0, 200),
    ];
    assert_eq!(seen.collect::<Vec<_>>(), wanted);
}

#[test]
fn messages_sent_with_the_failure_belong_to_it() {
    // The device tells the gateway why it gives up: the datagram leaves after `Failed` is recorded.
    let sample = only(vec![
        at(0, Node::Ue, Fact::Triggered),
        at(50, Node::Ue, Fact::Sent(sent(IKE, INFORMATIONAL))),
        at(50, Node::Ue, Fact::Failed { why: "AUTHENTICATION_FAILED".into() }),
        at(50, Node::Ue, Fact::Sent(Message { bytes: 1, ..sent(IKE, CREATE_CHILD) })),
        at(50, Node::Ue, ike(10, Fate::Delivered)),
        at(50, Node::Ue, carried(UE_GW, IKE, 1, 99, 10, Fate::Delivered)),
    ]);
    assert_eq!(sample.outcome.failure(), Some("ue: AUTHENTICATION_FAILED"));
    assert_eq!((sample.times.get(&DELAY), sample.split), (None, None));
    assert_eq!((sample.total.messages, sample.total.bytes), (1, 248));
    assert_eq!((sample.after.messages, sample.after.bytes), (1, 99));
}

#[test]
fn fragments_are_one_message_of_many_packets() {
    let fragment = |fragment| Fact::Sent(Message { fragment, ..sent(IKE, AUTH) });
    let samples = measure(
        vec![
            at(0, Node::Ue, Fact::Triggered),
            at(10, Node::Ue, fragment(1)),
            at(10, Node::Ue, fragment(2)),
            at(10, Node::Ue, fragment(3)),
            at(10, Node::Ue, ike(100, Fate::Delivered)),
            at(10, Node::Ue, ike(110, Fate::Delivered)),
            at(10, Node::Ue, ike(120, Fate::Delivered)),
            at(130, Node::Ue, Fact::Usable),
        ],
        [],
    );
    let sample = &samples.kept[0];
    assert_eq!((sample.total.messages, sample.total.packets), (1, 3));
    assert_eq!(sample.split.as_ref().unwrap().network_ns, 120, "fragments travel side by side");
    let kinds = samples.tally.messages.kinds();
    assert_eq!((kinds.len(), kinds[0].count, kinds[0].bytes), (1, 1, 600));
}

#[test]
fn each_protocol_counts_on_its_own_link() {
    let radius = carried(GW_AAA, RADIUS, 1, 100, 5, Fate::Delivered);
    let sample = only(vec![
        at(0, Node::Ue, Fact::Triggered),
        at(1, Node::Ue, Fact::Sent(sent(IKE, AUTH))),
        at(1, Node::Ue, ike(1, Fate::QueueFull)),
        at(2, Node::Gw, Fact::Sent(sent(RADIUS, ACCESS_REQUEST))),
        at(2, Node::Gw, radius),
        at(10, Node::Ue, Fact::Usable),
    ]);
    let refused = LinkCount { messages: 1, lost_packets: 1, ..LinkCount::default() };
    let taken = LinkCount { messages: 1, packets: 1, bytes: 100, ..LinkCount::default() };
    assert_eq!(sample.links, BTreeMap::from([(UE_GW, refused), (GW_AAA, taken)]));
}

/// The gateway reports the session with its last answer; the server's response to that may be sent before the device is
/// done or after it. The device computes for 30 of the 100 during which the report is in flight.
#[test]
fn accounting_is_never_part_of_the_authentication() {
    let radius = |bytes| carried(GW_AAA, RADIUS, 1, bytes, 100, Fate::Delivered);
    let access = [
        at(0, Node::Ue, Fact::Triggered),
        at(1, Node::Gw, Fact::Sent(sent(RADIUS, ACCESS_REQUEST))),
        at(1, Node::Gw, radius(90)),
        at(101, Node::Aaa, Fact::Sent(Message { response: true, ..sent(RADIUS, ACCESS_ACCEPT) })),
        at(101, Node::Aaa, radius(80)),
    ];
    let report = |answered_ns| {
        let answer = Message { response: true, accounting: true, ..sent(RADIUS, ACCOUNTING_RESPONSE) };
        vec![
            at(201, Node::Gw, Fact::Sent(Message { accounting: true, ..sent(RADIUS, ACCOUNTING_REQUEST) })),
            at(201, Node::Gw, radius(70)),
            at(answered_ns, Node::Aaa, Fact::Sent(answer)),
            at(answered_ns, Node::Aaa, radius(20)),
        ]
    };
    let done = [at(331, Node::Ue, Fact::Computed { busy_ns: 30 }), at(331, Node::Ue, Fact::Usable)];
    let concluded = |report: Vec<Record>| {
        only(access.iter().cloned().chain(report).chain(done.iter().cloned()).collect())
    };
    let without = concluded(Vec::new());
    assert_eq!((without.total.messages, without.total.bytes), (2, 170));
    for answered_ns in [305, 340] {
        let with = concluded(report(answered_ns));
        let after = LinkCount { messages: 2, packets: 2, bytes: 90, ..LinkCount::default() };
        assert_eq!((&with.links, with.after), (&without.links, after), "{answered_ns}");
        assert_eq!(with.split, without.split, "nobody waits for it");
    }
    let kinds = measure(access.into_iter().chain(report(305)).chain(done), []).tally.messages;
    let part = |name| kinds.kinds().iter().find(|kind| kind.example.name == name).unwrap().part;
    assert_eq!(
        [ACCESS_REQUEST, ACCESS_ACCEPT, ACCOUNTING_REQUEST, ACCOUNTING_RESPONSE].map(part),
        [Part::Authentication, Part::Authentication, Part::After, Part::After]
    );
}

#[test]
fn the_device_decides_on_the_outcome() {
    let failed = |node, why: &'static str| at(5, node, Fact::Failed { why: why.into() });
    let usable = only(vec![
        at(0, Node::Ue, Fact::Triggered),
        failed(Node::Gw, "half-open timeout"),
        at(9, Node::Ue, Fact::Usable),
    ]);
    assert_eq!((usable.outcome, usable.times.get(&DELAY)), (Outcome::Established, Some(9)));
    let silent = only(vec![at(0, Node::Ue, Fact::Triggered), failed(Node::Gw, "half-open timeout")]);
    assert_eq!(silent.outcome.failure(), Some("gw: half-open timeout"));
    assert_eq!((usable.times.get(&FAILED_AFTER), silent.times.get(&FAILED_AFTER)), (None, None));
    assert_eq!(only(vec![at(0, Node::Ue, Fact::Triggered)]).outcome, Outcome::Unfinished);
}

#[test]
fn a_node_that_was_told_of_a_failure_did_not_detect_it() {
    let records = |found: &[(u64, Node, &'static str)], end| {
        let found = found.iter().map(|&(at_ns, node, why)| at(at_ns, node, Fact::Failed { why: why.into() }));
        let records = std::iter::once(at(0, Node::Ue, Fact::Triggered)).chain(found);
        only(records.chain([at(9, Node::Ue, end)]).collect())
    };
    let told = || Fact::Refused { why: "EAP Failure".into() };
    let password = records(&[(5, Node::Aaa, "EAP wrong password"), (6, Node::Gw, "late")], told());
    assert_eq!(password.outcome.failure(), Some("aaa: EAP wrong password"));
    assert_eq!((password.times.get(&FAILED_AFTER), password.times.get(&DELAY)), (Some(9), None));
    assert_eq!(records(&[], told()).outcome.failure(), Some("ue: EAP Failure"), "nobody else said anything");
    let certificate = Fact::Failed { why: "certificate expired".into() };
    let certificate = records(&[(5, Node::Aaa, "TLS alert certificate_expired")], certificate);
    assert_eq!(certificate.outcome.failure(), Some("ue: certificate expired"), "it found that out itself");
}

#[test]
fn records_without_a_trigger_are_no_authentication() {
    let samples = measure(vec![at(1, Node::Ue, Fact::Closed { why: "deleted".into() })], []);
    assert_eq!((samples.tally.n, samples.tally.without_trigger), (0, 1));
}

fn row(samples: u32, delay_ns: impl Fn(u32) -> u64, disturbed: impl Fn(u32) -> bool) -> Vec<Record> {
    let mut records = Vec::new();
    for sample in 0..samples {
        let start_ns = u64::from(sample) * 1_000_000;
        let end_ns = start_ns + delay_ns(sample);
        let mut note = |at_ns, fact| records.push(Record { at_ns, node: Node::Ue, sample, fact });
        note(start_ns, Fact::Triggered);
        if disturbed(sample) {
            note(start_ns, Fact::Disturbed);
        }
        note(end_ns, Fact::Computed { busy_ns: 1 });
        note(end_ns, Fact::Usable);
    }
    records
}

fn cost(sample: u32, cpu_ns: u64) -> Cost {
    let (heap_peak_bytes, idle_sa_bytes) = (1000 + u64::from(sample), Some(50));
    Cost::Sample(SampleCost {
        sample,
        node: Node::Ue,
        cpu_ns,
        crypto_ns: cpu_ns / 4,
        heap_peak_bytes,
        idle_sa_bytes,
    })
}

#[test]
fn disturbed_samples_are_not_in_the_cpu_figures_nor_in_charged_delays() {
    let samples = measure(row(3, |_| 100, |sample| sample == 1), [cost(0, 400), cost(1, 9999), cost(2, 600)]);
    let tally = samples.tally;
    assert_eq!((tally.n, tally.established, tally.disturbed), (3, 3, 1));
    assert_eq!(tally.times.get(&DELAY).moments().n(), 2);
    let ue = &tally.nodes[&Node::Ue];
    assert_eq!(
        (ue.cpu_ns.moments().n(), ue.cpu_ns.moments().mean(), ue.crypto_ns.moments().mean()),
        (2, Some(500.0), Some(125.0))
    );
    assert_eq!((ue.heap_peak_first, ue.idle_sa_bytes.quantiles([0.5])), (Some((0, 1000)), Some([50.0])));
}

#[test]
fn a_long_row_holds_only_authentications_in_progress() {
    let mut seen = Vec::new();
    let mut open_max = 0;
    let mut meter = Meter::new(|sample: &Sample| seen.push((sample.sample, sample.nodes.len())));
    for sample in 0..20_000 {
        for record in row(1, |_| 100, |_| false) {
            meter.record(Record { sample, ..record });
        }
        meter.cost(cost(sample, 7));
        open_max = open_max.max(meter.authentications.open.len());
    }
    let tally = meter.finish();
    assert!(open_max <= LINGER as usize + 1, "{open_max} open");
    assert_eq!(seen, (0..20_000).map(|sample| (sample, 1)).collect::<Vec<_>>());
    assert_eq!((tally.n, tally.nodes[&Node::Ue].cpu_ns.moments().n()), (20_000, 20_000));
}

#[test]
fn authentications_that_never_end_are_given_up_when_there_are_too_many() {
    let mut seen = 0_u64;
    let mut meter = Meter::new(|sample: &Sample| seen += u64::from(sample.outcome == Outcome::Unfinished));
    for sample in 0..OPEN_MAX as u32 + 10 {
        meter.record(Record { at_ns: 0, node: Node::Ue, sample, fact: Fact::Triggered });
        assert!(meter.authentications.open.len() <= OPEN_MAX);
    }
    assert_eq!(meter.finish().failures["unfinished"], OPEN_MAX as u64 + 10);
    assert_eq!(seen, OPEN_MAX as u64 + 10);
}

#[test]
fn late_records_are_counted_as_late() {
    let mut records = row(200, |_| 100, |_| false);
    records.push(Record {
        at_ns: u64::MAX,
        node: Node::Gw,
        sample: 3,
        fact: Fact::Closed { why: "deleted".into() },
    });
    let tally = measure(records, []).tally;
    assert_eq!((tally.n, tally.late_records), (200, 1));
}

#[test]
fn samples_beyond_the_kept_ones_are_in_the_statistics() {
    let samples = measure(row(KEPT_MAX as u32 + 5, |_| 100, |_| false), []);
    assert_eq!((samples.kept.len(), samples.left_out, samples.tally.n), (KEPT_MAX, 5, KEPT_MAX as u64 + 5));
}

#[test]
fn operations_and_the_clock_reach_the_tally() {
    let operation = OperationCost {
        node: Node::Gw,
        phase: "ike-auth".into(),
        operation: "sign".into(),
        algorithm: "rsa2048".into(),
        count: 1,
        ns: 2,
        bytes: 3,
    };
    let clock = Cost::Clock { ticks_hz: 1e9, profile_hz: vec![(Node::Gw, 2e9)] };
    let costs = [
        clock,
        Cost::OperationIn(Part::After, operation.clone()),
        // As older files have it.
        Cost::Operation(operation.clone()),
    ];
    let tally = measure([], costs).tally;
    let operations = [Some(Part::After), None].map(|part| Operation { part, cost: operation.clone() });
    assert_eq!(
        (tally.operations, tally.profile_hz),
        (operations.to_vec(), BTreeMap::from([(Node::Gw, 2e9)]))
    );
}

fn any_node() -> impl Strategy<Value = Node> {
    prop::sample::select(vec![Node::Ue, Node::Gw, Node::Aaa])
}

fn any_fate() -> impl Strategy<Value = Fate> {
    prop::sample::select(vec![Fate::Delivered, Fate::Lost, Fate::QueueFull, Fate::Corrupted, Fate::Duplicate])
}

fn any_fact() -> impl Strategy<Value = Fact> {
    let names = prop::sample::select(vec![SA_INIT, AUTH, CREATE_CHILD, INFORMATIONAL]);
    let message = (any::<bool>(), 0u16..4, names).prop_map(|(retransmission, fragment, name)| {
        Fact::Sent(Message { retransmission, fragment, ..sent(IKE, name) })
    });
    let datagram = (0u16..4, 0u32..3000, 0u64..800, any_fate())
        .prop_map(|(packets, bytes, transit_ns, fate)| carried(UE_GW, IKE, packets, bytes, transit_ns, fate));
    let computed = (0u64..300).prop_map(|busy_ns| Fact::Computed { busy_ns });
    let end =
        prop::sample::select(vec![Fact::Usable, Fact::FirstPacket, Fact::Failed { why: "timeout".into() }]);
    prop_oneof![3 => message, 3 => datagram, 2 => computed, 1 => end]
}

/// Records of a few authentications, no two at the same time.
fn any_records() -> impl Strategy<Value = Vec<Record>> {
    let record = (0u64..2000, any_node(), 0u32..3, any_fact());
    prop::collection::vec(record, 0..60).prop_map(|drawn| {
        let mut records: Vec<Record> =
            (0..3).map(|sample| Record { at_ns: 0, node: Node::Ue, sample, fact: Fact::Triggered }).collect();
        let placed = drawn.into_iter().zip(1..);
        records.extend(placed.map(|((ns, node, sample, fact), place)| Record {
            at_ns: ns * 64 + place,
            node,
            sample,
            fact,
        }));
        records.sort_by_key(|record| record.at_ns);
        records
    })
}

proptest! {
    #[test]
    fn the_parts_add_up_to_the_delay(records in any_records()) {
        for sample in measure(records, []).kept {
            let sum = sample.split.map(|split| split.network_ns + split.computation_total_ns() + split.waiting_ns);
            prop_assert_eq!(sum, sample.times.get(&DELAY));
            prop_assert_eq!(sample.times.get(&DELAY).is_some(), sample.outcome == Outcome::Established);
        }
    }

    #[test]
    fn everything_sent_is_counted_once(records in any_records()) {
        let mut wanted = LinkCount::default();
        for record in &records {
            match &record.fact {
                Fact::Sent(message) if message.fragment <= 1 && message.retransmission => wanted.retransmissions += 1,
                Fact::Sent(message) if message.fragment <= 1 => wanted.messages += 1,
                Fact::Carried { packets, bytes, fate: Fate::Delivered | Fate::Lost | Fate::Corrupted, .. } => {
                    wanted.packets += u64::from(*packets);
                    wanted.bytes += u64::from(*bytes);
                }
                _ => {}
            }
        }
        let mut found = LinkCount::default();
        let samples = measure(records, []);
        for sample in &samples.kept {
            found.add(&sample.total);
            found.add(&sample.after);
        }
        prop_assert_eq!(LinkCount { lost_packets: 0, ..found }, wanted);
        let kinds = samples.tally.messages.kinds();
        prop_assert_eq!(kinds.iter().map(|kind| kind.count).sum::<u64>(), wanted.messages);
    }

    #[test]
    fn the_order_of_unrelated_records_does_not_matter(
        (records, shuffled) in any_records().prop_flat_map(|records| {
            let shuffled = Just(records.clone()).prop_shuffle();
            (Just(records), shuffled)
        }),
    ) {
        prop_assert_eq!(measure(records, []).kept, measure(shuffled, []).kept);
    }
}
