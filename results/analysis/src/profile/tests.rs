//! Profiles of hand-written steps, with numbers that can be added up by hand.

use keytoll_trace::{BlockCost, Cost, Message, Name, Node, Protocol, StepCost, StepOperation, Stimulus};

use super::*;

fn ike(exchange: &str, response: bool, id: u32) -> Message {
    let direction = if response { "response" } else { "request" };
    let series = match exchange {
        "IDENTITY_PROTECTION" => Some(Name::new(&"P1")),
        "QUICK_MODE" => Some(Name::new(&"P2")),
        _ => None,
    };
    let name = Name::intern(&format!("{exchange} {direction}")).unwrap();
    Message { series, response, id, bytes: 100, ..Message::new(Protocol::new(&"ike"), name) }
}

fn radius(name: Name, response: bool, id: u32) -> Message {
    Message { response, id, bytes: 100, ..Message::new(Protocol::new(&"radius"), name) }
}

fn operation(
    phase: &'static str,
    operation: &'static str,
    algorithm: &'static str,
    ticks: u64,
) -> StepOperation {
    let (phase, operation, algorithm) = (phase.into(), operation.into(), algorithm.into());
    StepOperation { phase, purpose: "".into(), operation, algorithm, ticks, bytes: 16 }
}

fn step(received: Option<Message>, sent: Vec<Message>, ticks: u64, operations: Vec<StepOperation>) -> Cost {
    let stimulus = received.map_or(Stimulus::Own, Stimulus::Message);
    Cost::Step(StepCost { sample: 0, node: Node::Gw, stimulus, sent, ticks, operations })
}

/// A thousand ticks are a millisecond; the core runs at 2 MHz.
fn clock() -> Cost {
    Cost::Clock { ticks_hz: 1e6, profile_hz: vec![(Node::Gw, 2e6), (Node::Ue, 2e6)] }
}

fn in_sample(sample: u32, costs: &[Cost]) -> Vec<Cost> {
    let moved = |cost: &Cost| match cost {
        Cost::Step(step) => Cost::Step(StepCost { sample, ..step.clone() }),
        other => other.clone(),
    };
    costs.iter().map(moved).collect()
}

fn on_node(node: Node, costs: &[Cost]) -> Vec<Cost> {
    let moved = |cost: &Cost| match cost {
        Cost::Step(step) => Cost::Step(StepCost { node, ..step.clone() }),
        other => other.clone(),
    };
    costs.iter().map(moved).collect()
}

/// A gateway with a shared key: three messages in, two of them answered.
fn handshake(agree: u64) -> Vec<Cost> {
    vec![
        step(
            Some(ike("IKE_SA_INIT", false, 0)),
            vec![ike("IKE_SA_INIT", true, 0)],
            1000,
            vec![operation("sa-init", "generate", "x25519", 300)],
        ),
        step(
            Some(ike("IKE_AUTH", false, 1)),
            vec![ike("IKE_AUTH", true, 1)],
            3000,
            vec![
                operation("sa-init", "agree", "x25519", agree),
                operation("sa-init", "prf", "prfsha256", 10),
                operation("sa-init", "prf", "prfsha256", 20),
                operation("auth", "decrypt", "aes128gcm16", 50),
                operation("auth", "prf", "prfsha256", 30),
                operation("auth", "encrypt", "aes128gcm16", 60),
                operation("traffic", "encrypt", "aes128gcm16", 500),
            ],
        ),
        Cost::Step(StepCost {
            sample: 0,
            node: Node::Gw,
            stimulus: Stimulus::Datagram(Protocol::ESP),
            sent: Vec::new(),
            ticks: 9999,
            operations: vec![operation("traffic", "decrypt", "aes128gcm16", 777)],
        }),
    ]
}

fn of(node: Node, measured: &[Measured<'_>]) -> Profile {
    Profile::new(Subject { method: "ikev2-psk", node, network: "loopback" }, measured, Vec::new())
}

fn timed<'a>(suite: &'a str, timed: &'a [Cost]) -> Measured<'a> {
    Measured { suite, mark: "", timed, skeleton: None }
}

/// Message, operation, algorithm, count and milliseconds of each line.
fn told(profile: &Profile) -> Vec<(&str, &str, &str, f64, f64)> {
    let lines = profile.lines.iter().filter_map(|line| Some((line, line.cells[0].as_ref()?)));
    lines
        .map(|(line, cell)| (&*line.message, &*line.operation, &*cell.algorithm, cell.count, cell.ms.p50))
        .collect()
}

#[test]
fn operations_belong_to_the_message_they_read_or_answer() {
    let costs: Vec<Cost> = std::iter::once(clock()).chain(handshake(400)).collect();
    let profile = of(Node::Gw, &[timed("one", &costs)]);
    assert_eq!(
        told(&profile),
        [
            ("IKE_SA_INIT response", "D-H generation", "x25519", 1.0, 0.3),
            ("IKE_AUTH request", "D-H agreement", "x25519", 1.0, 0.4),
            ("IKE_AUTH request", "PRF", "prfsha256", 2.0, 0.03),
            ("IKE_AUTH request", "decryption", "aes128gcm16", 1.0, 0.05),
            ("IKE_AUTH response", "PRF", "prfsha256", 1.0, 0.03),
            ("IKE_AUTH response", "encryption", "aes128gcm16", 1.0, 0.06),
        ]
    );
}

#[test]
fn totals_leave_ipsec_traffic_out_and_add_up() {
    let costs: Vec<Cost> = std::iter::once(clock()).chain(handshake(400)).collect();
    let profile = of(Node::Gw, &[timed("one", &costs)]);
    let total = profile.columns[0].node("gw").unwrap();
    // 1000 + 3000 − 500 of ESP in the second step; the third is all ESP.
    assert_eq!((total.total_ms.p50, total.crypto_ms.p50, total.rest_ms.p50), (3.5, 0.87, 2.63));
    assert_eq!(total.total_cycles, 7000.0);
    let lines: f64 = told(&profile).iter().map(|line| line.4).sum();
    assert!((lines - total.crypto_ms.p50).abs() < 1e-12, "{lines}");
    let shares: f64 = profile.lines.iter().map(|line| line.cells[0].as_ref().unwrap().share).sum();
    assert!((shares - total.crypto_share).abs() < 1e-12, "{shares}");
}

#[test]
fn means_have_intervals_and_missing_operations_cost_nothing() {
    let mut costs = vec![clock()];
    costs.extend(in_sample(0, &handshake(400)));
    costs.extend(in_sample(1, &handshake(600)));
    costs.extend(in_sample(2, &handshake(500)[..1]));
    let profile = of(Node::Gw, &[timed("one", &costs)]);
    let agree = profile.lines[1].cells[0].as_ref().unwrap();
    // 0.4, 0.6 and nothing: mean 1/3, deviation √0.0933…, t(0.975; 2) = 4.30265.
    assert!((agree.ms.mean - 1.0 / 3.0).abs() < 1e-12);
    let half = 4.302_652_729_911_275 * (0.28_f64 / 3.0).sqrt() / 3_f64.sqrt();
    assert!((agree.ms.ci95_half.unwrap() - half).abs() < 1e-9, "{:?}", agree.ms);
    assert_eq!((agree.ms.n, profile.columns[0].n), (3, 3));
}

#[test]
fn the_interval_is_that_of_the_blocks() {
    let mut costs = vec![clock()];
    // Agreements of 300 to 700 ticks in five blocks of three, of which the last one in each is far off.
    for (sample, block) in (0..).zip([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]) {
        costs.push(Cost::Block(BlockCost { sample, block, reference_ns: 20_000 }));
        let agree = if sample % 3 == 2 { 90_000 } else { 300 + 100 * u64::from(block) };
        costs.extend(in_sample(sample, &handshake(agree)));
    }
    let profile = of(Node::Gw, &[timed("one", &costs)]);
    let ms = &profile.lines[1].cells[0].as_ref().unwrap().ms;
    let medians: Vec<f64> = ms.blocks_p50.iter().map(|ms| (ms * 1e3).round()).collect();
    assert_eq!(medians, [300.0, 400.0, 500.0, 600.0, 700.0]);
    // Mean 0.5, deviation √0.025, t(0.975; 4) = 2.77645.
    let half = 2.776_445_105_197_793 * (0.025_f64 / 5.0).sqrt();
    let (low, high) = ms.median().interval.unwrap();
    assert!((low - (0.5 - half)).abs() < 1e-9 && (high - (0.5 + half)).abs() < 1e-9, "{ms:?}");
    assert_eq!(ms.p50_ci95_high, Some(90.0), "as if they were independent");
}

#[test]
fn no_two_lines_look_the_same() {
    let mut costs: Vec<Cost> = std::iter::once(clock()).chain(handshake(400)).collect();
    let Cost::Step(second) = &mut costs[2] else { panic!("not a step") };
    second.operations[1].purpose = "SKEYSEED".into();
    second.operations[2].purpose = "SK_*".into();
    second.operations.insert(4, operation("auth", "decrypt", "aes128gcm16", 50));
    second.operations.insert(4, operation("auth", "prf", "prfsha256", 50));
    let profile = of(Node::Gw, &[timed("one", &costs)]);
    let lines: Vec<_> =
        profile.lines.iter().map(|line| (&*line.message, &*line.operation, &*line.purpose)).collect();
    assert_eq!(
        lines[2..7],
        [
            ("IKE_AUTH request", "PRF", "SKEYSEED"),
            ("IKE_AUTH request", "PRF", "SK_*"),
            ("IKE_AUTH request", "decryption", "1 of 2"),
            ("IKE_AUTH request", "PRF", ""),
            ("IKE_AUTH request", "decryption", "2 of 2"),
        ]
    );
    for line in &lines {
        assert_eq!(lines.iter().filter(|other| *other == line).count(), 1, "{line:?}");
    }
}

#[test]
fn a_fragment_is_distinguished_from_the_message() {
    let fragment = |number| Message { fragment: number, ..ike("IKE_AUTH", false, 1) };
    let decrypt = || vec![operation("auth", "decrypt", "aes128gcm16", 5)];
    let steps = [
        step(Some(fragment(1)), Vec::new(), 10, decrypt()),
        step(Some(fragment(2)), Vec::new(), 10, decrypt()),
    ];
    let costs: Vec<Cost> = std::iter::once(clock()).chain(steps).collect();
    let profile = of(Node::Gw, &[timed("one", &costs)]);
    let messages: Vec<_> = profile.lines.iter().map(|line| &*line.message).collect();
    assert_eq!(messages, ["IKE_AUTH request", "IKE_AUTH request, fragment 2"]);
}

#[test]
fn suites_share_common_lines_and_keep_their_own() {
    let one: Vec<Cost> = std::iter::once(clock()).chain(handshake(400)).collect();
    let mut other = one.clone();
    let Cost::Step(second) = &mut other[2] else { panic!("not a step") };
    second.operations[0] = operation("sa-init", "agree", "modp1024", 800);
    second.operations.insert(3, operation("auth", "verify-mac", "sha1", 40));
    let profile = of(Node::Gw, &[timed("one", &one), timed("other", &other)]);
    let names: Vec<_> =
        profile.lines.iter().map(|line| (&*line.operation, line.cells.iter().flatten().count())).collect();
    assert_eq!(
        names,
        [
            ("D-H generation", 2),
            ("D-H agreement", 2),
            ("PRF", 2),
            ("integrity check", 1),
            ("decryption", 2),
            ("PRF", 2),
            ("encryption", 2)
        ]
    );
    let algorithms: Vec<_> =
        profile.lines[1].cells.iter().map(|cell| &*cell.as_ref().unwrap().algorithm).collect();
    assert_eq!(algorithms, ["x25519", "modp1024"]);
}

#[test]
fn ikev1_is_named_by_phase_side_and_place() {
    let agree = || vec![operation("sa-init", "agree", "modp1536", 100)];
    let main = |received: u32| {
        (
            Some(ike("IDENTITY_PROTECTION", false, 0)),
            vec![ike("IDENTITY_PROTECTION", true, 0)],
            10 * u64::from(received),
        )
    };
    let quick = || ike("QUICK_MODE", false, 7);
    let mut steps: Vec<Cost> = (1..=3)
        .map(|place| {
            let (received, sent, ticks) = main(place);
            step(received, sent, ticks, agree())
        })
        .collect();
    steps.push(step(Some(quick()), vec![ike("QUICK_MODE", true, 7)], 10, agree()));
    let decrypt = vec![operation("create-child", "decrypt", "3des", 5)];
    steps.push(step(Some(quick()), Vec::new(), 10, decrypt));
    let gateway: Vec<Cost> = std::iter::once(clock()).chain(steps.clone()).collect();
    let of_gateway = of(Node::Gw, &[timed("one", &gateway)]);
    let messages: Vec<_> = of_gateway.lines.iter().map(|line| &*line.message).collect();
    assert_eq!(messages, ["P1, R1", "P1, R2", "P1, R3", "P2, R1", "P2, I2"]);
    let device: Vec<Cost> = std::iter::once(clock()).chain(on_node(Node::Ue, &steps)).collect();
    let of_device = of(Node::Ue, &[timed("one", &device)]);
    let messages: Vec<_> = of_device.lines.iter().map(|line| &*line.message).collect();
    assert_eq!(messages, ["P1, I1", "P1, I2", "P1, I3", "P2, I1", "P2, R2"], "the device sent what it sends");
}

#[test]
fn several_messages_of_a_kind_have_numbers_and_repetitions_do_not_count() {
    let hash = || vec![operation("aaa", "hash", "md5", 1)];
    let request = |id| radius(Name::new(&"Access-Request"), false, id);
    let again = Message { retransmission: true, ..request(4) };
    let steps = [
        step(None, vec![request(4)], 10, hash()),
        step(None, vec![again], 10, hash()),
        step(Some(radius(Name::new(&"Access-Challenge"), true, 4)), vec![request(5)], 10, hash()),
    ];
    let costs: Vec<Cost> = std::iter::once(clock()).chain(steps).collect();
    let profile = of(Node::Gw, &[timed("one", &costs)]);
    let messages: Vec<_> = profile.lines.iter().map(|line| &*line.message).collect();
    assert_eq!(messages, ["Access-Request 1", "Access-Request 1", "Access-Request 2"]);
}

#[test]
fn a_message_with_many_runs_has_one_line_for_each_kind() {
    let operations = (0..12).map(|place| match place % 2 {
        0 => operation("aaa", "hash", "sha384", 1),
        _ => operation("aaa", "prf", "prfsha384", 2),
    });
    let costs = [clock(), step(None, vec![ike("IKE_AUTH", true, 1)], 100, operations.collect())];
    let profile = of(Node::Gw, &[timed("one", &costs)]);
    let told: Vec<_> =
        told(&profile).into_iter().map(|(_, operation, _, count, ms)| (operation, count, ms)).collect();
    assert_eq!(told, [("hash", 6.0, 0.006), ("PRF", 6.0, 0.012)]);
}

#[test]
fn subtraction_and_addition_are_compared() {
    let with = |ticks: [u64; 2], crypto: [u64; 2]| -> Vec<Cost> {
        let one = |kind, place: usize| {
            let operations = vec![operation("auth", "agree", "x25519", crypto[place])];
            step(Some(ike(kind, false, 0)), vec![ike(kind, true, 0)], ticks[place], operations)
        };
        vec![clock(), one("IKE_SA_INIT", 0), one("IKE_AUTH", 1)]
    };
    let timed = with([1100, 2100], [500, 800]);
    let (full, skeleton) = (with([1000, 2000], [0, 0]), with([480, 800], [0, 0]));
    let skeleton_timed = with([490, 810], [4, 6]);
    let beside = Beside { full: &full, skeleton: &skeleton, skeleton_timed: &skeleton_timed };
    let measured = Measured { suite: "one", mark: "", timed: &timed, skeleton: Some(beside) };
    let profile = of(Node::Gw, &[measured]);
    let found = profile.columns[0].skeleton.as_ref().unwrap();
    let sides = &found.node;
    assert_eq!((sides.full_ms.mean, sides.skeleton_ms.mean), (3.0, 1.28));
    assert!((sides.by_subtraction_ms.mean - 1.72).abs() < 1e-12);
    assert_eq!(sides.by_addition_ms.mean, 1.3);
    assert!((sides.difference - (1.3 / 1.72 - 1.0)).abs() < 1e-12 && !sides.agrees);
    assert!((sides.skeleton_crypto_share - 0.01 / 1.28).abs() < 1e-12);
    assert_eq!(found.contributions[0].step, "IKE_AUTH request");
    assert!((found.contributions[0].unexplained_ms() - 0.4).abs() < 1e-12);
    assert_eq!(found.all.full_ms.mean, 3.0, "the gateway is the only node");
}

#[test]
fn nothing_measured_is_an_empty_profile() {
    let profile = of(Node::Gw, &[timed("one", &[])]);
    assert!(profile.lines.is_empty() && profile.columns[0].nodes.is_empty());
}
