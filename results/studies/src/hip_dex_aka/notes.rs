//! Notes for readers: what the columns are, and where this differs from the testbed. A summary does not contain the options that ran:
//! for these a note describes only the shipped scenario.

use super::measured::Measured;
use super::{EAP_AKA, EAP_TLS, Method, Part, Speed};
use crate::published::Published;

/// All notes.
pub(super) fn notes(measured: Measured<'_>) -> Vec<String> {
    let of_run = [uncharged(measured), without_calibration(measured), counts(measured), fragment(measured)];
    [LEGEND, SPEEDS, CALIBRATED_LINKS]
        .into_iter()
        .map(str::to_owned)
        .chain(of_run.into_iter().flatten())
        .chain(TESTBED.map(str::to_owned))
        .collect()
}

const LEGEND: &str = "paper: printed in its text and tables; derived from these, mostly by inverting its table of shares; or \
                      reconstructed. Its figures are not at hand, so many cells are empty. Messages, packets, bytes, cycles and \
                      memory are those of all rows, for they depend neither on the network nor on the clocks.";

const SPEEDS: &str = "Lines without an addition: testbed clock, the cycles of this machine at the testbed's MHz (as shipped 1600 for the UE, \
                      3000 for the others). The testbed's CPUs took far more cycles. Fitted: on fitted CPUs, with each node's clock \
                      lowered until EAP-AKA takes as long as its printed cycles did on the testbed, so that EAP-AKA's computation \
                      confirms nothing; the HSS has the AAA server's clock. Here: this machine's CPU, not scaled.";

const CALIBRATED_LINKS: &str = "Both access networks are presets calibrated on these slides: DEX makes two round trips over them in \
                                7 and 228 ms. That confirms nothing; the comparison of the methods does.";

const TESTBED: [&str; 7] = [
    "DEX-AKA is a reconstruction: nothing but its name and the numbers here was published. 6 messages between UE and GW and 2 \
     between GW and HSS follow from the shares.",
    "The derived delays of DEX-AKA are about 65 ms longer than its messages and computation explain, for it asked a real HSS each \
     time: as shipped, the HSS here waits 65 ms for its store at each look-up (`hss_store`). That is an input and confirms nothing; \
     whether DEX-AKA keeps 300 ms with it is a result. Their EAP-AKA had vectors in stock: as shipped, the AAA server here gets ten \
     at a time, so that one authentication in ten waits for the HSS, and the median does not.",
    "Diameter runs over TCP, whose acknowledgements are not simulated: the slides' third packet of DEX-AKA in the core is one. \
     Each message counts 20 bytes for TCP.",
    "Heap is what the node's engines and the cryptographic library allocate, counted by the allocator for the running node, without the \
     tables of keytoll's own meters. Stack is the deepest of the node's steps in its first authentication. The sum of both peaks \
     is compared with the slides, which show heap and stack of whole programs under Valgrind's massif. Keys and \
     certificates are shared by all nodes and belong to none. AAA: theirs is FreeRADIUS with all its modules.",
    "Why DEX-AKA does not save as much memory as on the slides: EAP-AKA's peaks here are computations with 2048 bits, modp2048 at the \
     UE and an RSA signature at the GW. Their tables of powers were 9.0 of 20.3 and 12.4 of 30.5 kB of heap on 2026-11-29 \
     (docs/not-reproduced.md), and much of its stack is their numbers. DEX-AKA computes on P-256 and has no such peak. The rest, \
     endpoints and associations, has about the same size in both methods; on the slides whole programs differ, strongSwan and a \
     prototype.",
    "As shipped, IKE has the suite that strongSwan of the time offered first, RSA-2048, no IKE fragmentation, IPv4, the identity \
     asked over the air, and for EAP-TLS chains of 4 certificates in fragments of 900 bytes, which make the derived 26 and 20 \
     messages. DEX is that of the prototypes of 2011 and 2015 with keys of P-256 and puzzles of 8 bits, BEX has RSA-1024 and \
     modp1536 as InfraHIP by default.",
    "The slides' shares are processing times of a profiler. PSK's share of 97 % includes computation outside the delay. Here a share \
     is the time in which a node computes and no datagram is on its way.",
];

/// A note if computation was not charged.
fn uncharged(measured: Measured<'_>) -> Option<String> {
    let text = "Computation took no time here: delays are the network's alone, and findings that computation has a part in are not \
                judged by them.";
    measured.is_uncharged().then(|| text.to_owned())
}

/// A note if the run was not repeated on fitted CPUs.
fn without_calibration(measured: Measured<'_>) -> Option<String> {
    let text = "The run was not repeated on fitted CPUs, so its delays are not judged.";
    let lacks = measured.computation_ms(EAP_AKA, Speed::Calibrated).is_none();
    (lacks && !measured.is_uncharged()).then(|| text.to_owned())
}

/// A note on whether the counts are the derived ones.
fn counts(measured: Measured<'_>) -> Option<String> {
    let differs = |method: Method| {
        let beyond = |part: Part| {
            let counted =
                measured.counted(method, part, |means| means.messages).map_or(0.0, |figure| figure.value);
            let derived: Option<Published> = super::published::messages(method, part);
            counted - derived.map_or(0.0, |derived| derived.value)
        };
        let [ran, core] = Part::ALL.map(beyond);
        let told = ran.abs() >= 0.5 || core.abs() >= 0.5;
        (measured.has(method) && told).then(|| format!("{} ({ran:+.0} RAN, {core:+.0} core)", method.label))
    };
    let differing = super::METHODS.into_iter().filter_map(differs).collect::<Vec<_>>();
    let names = differing.join(", ");
    (!names.is_empty()).then(|| format!("The message counts are the derived ones but for {names}."))
}

/// A note on the fragment that EAP-AKA had and ours has not.
fn fragment(measured: Measured<'_>) -> Option<String> {
    let of = |of: fn(&keytoll_analysis::summary::LinkMeans) -> f64| measured.counted(EAP_AKA, Part::Ran, of);
    let fragments = of(|means| means.packets - means.messages - means.retransmissions)?.value;
    let text = format!(
        "The slides' EAP-AKA sent 11 packets in the RAN for 10 messages: most likely the gateway's certificate and signature were \
         too long for one packet. Here they fit, because RSA-2048 with short names needs fewer bytes. The slides print neither chain \
         length nor key size of {}.",
        EAP_TLS.label
    );
    (fragments < 0.5).then_some(text)
}
