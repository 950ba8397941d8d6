//! The fault sweep: whole hosts, every method with every option that changes its exchanges, over links that lose, repeat,
//! reorder and damage. Each authentication ends in agreement or in a failure with a name, each row has as many as planned, and
//! in the end nobody holds anything.
//!
//! A case is a method, a set of options and a seed; the seed makes the weather and everything random. `KEYTOLL_SWEEP_SEEDS`
//! says how many seeds each method and set of options gets, `KEYTOLL_SWEEP_METHODS=hip-` takes only methods whose names begin so;
//! `KEYTOLL_SWEEP_CASE=method/options/seed` runs one case alone.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keytoll_crypto::Prices;
use keytoll_crypto_api::Rng;
use keytoll_engine::Time;
use keytoll_hosts::event::Reason;
use keytoll_hosts::{Child, Event, Host, SessionId};
use keytoll_lab::{Cost, Credentials, Keeper, Record, Recorder, Row, Stop};
use keytoll_scenario::catalogue::eap::Proof;
use keytoll_scenario::catalogue::facet::NAMED_BEFORE_EAP;
use keytoll_scenario::catalogue::{Fault, Method};
use keytoll_scenario::families::{hip, wlan};
use keytoll_scenario::plan::{Options, Plan, RowPlan};
use keytoll_scenario::{Overrides, Source, families, options};
use keytoll_trace::{Fact, Node};

const SAMPLES: u32 = 4;
/// For each method and set of options, if nobody says otherwise.
const SEEDS: u64 = 12;
/// All repetitions of a message, and a little.
const SETTLED: Duration = Duration::from_secs(200);
/// Longer than anything is kept: two lifetimes, and the grace of whoever waits for the other side.
const FORGOTTEN: Duration = Duration::from_secs(4 * 3600);

/// Options as a scenario writes them, with a name for the command that replays a case.
struct Variant {
    name: String,
    options: String,
    /// Children change while the SA lives: agreement on one of them is enough.
    rekeys: bool,
    /// Damaged messages reach the engines, and null cryptography takes them for good.
    damaged: bool,
    /// What every operation costs, where nodes are charged by a table.
    operation_ns: Option<f64>,
}

impl Variant {
    fn new(name: &str, options: &str) -> Self {
        let rekeys = options.contains("rekey_");
        Self {
            name: name.to_owned(),
            options: options.to_owned(),
            rekeys,
            damaged: false,
            operation_ns: None,
        }
    }

    fn fault(fault: Fault) -> Self {
        let damaged = fault == Fault::ChecksumsIgnored;
        Self { damaged, ..Self::new(fault.name(), &format!("fault = \"{}\"", fault.name())) }
    }

    /// Nodes that compute for so long, charged by a table.
    fn computing(name: &str, operation: Duration) -> Self {
        Self { operation_ns: Some(operation.as_secs_f64() * 1e9), ..Self::new(name, "") }
    }

    fn is_short_lived(&self) -> bool {
        ["reauth_lifetime", "unused_after", "stays_idle"].iter().any(|key| self.options.contains(key))
    }
}

/// Every set of options that changes what a method's nodes say to each other.
fn variants(method: &'static Method) -> Vec<Variant> {
    let own = match method.own::<wlan::Admission>() {
        Some(admission) => of_wlan(method, *admission),
        None if method.own::<hip::Exchange>().is_some() => of_hip(method),
        None => of_ike(method),
    };
    let faults = Fault::ALL.into_iter().filter(|fault| fault.concerns(method) && !fault.is_wrong_key());
    own.into_iter()
        .map(|(name, options)| Variant::new(name, options))
        .chain(faults.map(Variant::fault))
        .chain([
            Variant::computing("table", Duration::from_millis(5)),
            // A message takes longer than the peer waits before it repeats its own.
            Variant::computing("table-slow", Duration::from_millis(900)),
        ])
        .collect()
}

fn of_hip(method: &'static Method) -> Vec<(&'static str, &'static str)> {
    let mut all = vec![
        ("plain", ""),
        ("brief", "unused_after = \"5 s\""),
        ("ipv4", "ipv6 = false"),
        ("easy", "puzzle_bits = 0"),
        ("rekey-child", "rekey_child = \"60 s\""),
        ("moving", "move_after = \"2 s\""),
        ("moving-rekey", "move_after = \"61 s\"\nrekey_child = \"60 s\"\nipv6 = false"),
    ];
    match method.own::<hip::Exchange>() {
        Some(hip::Exchange::Base) => all.extend([
            ("encrypted", "encrypt_host_id = true"),
            ("rekey-new", "rekey_child = \"60 s\"\nrekey_with_new_keys = true"),
        ]),
        Some(hip::Exchange::DietAka) => {
            all.extend([
                ("prototype", "dex = \"prototype\""),
                ("umts", "aka = \"umts\""),
                ("store", "hss_store = \"65 ms\""),
            ]);
        }
        _ => all.push(("prototype", "dex = \"prototype\"")),
    }
    all
}

fn of_wlan(method: &'static Method, admission: wlan::Admission) -> Vec<(&'static str, &'static str)> {
    use wlan::Admission::{DynamicWep, Open, Rrkm, SharedKey, Wpa2Eap, Wpa2Psk, Wpa3Eap, Wpa3Sae};
    let mut all = vec![("plain", ""), ("brief", "stays_idle = \"2 s\""), ("ipv4", "ipv6 = false")];
    match admission {
        Open => {}
        SharedKey | DynamicWep => all.push(("short-keys", "wep = \"wep-40\"")),
        Rrkm => all.extend([
            ("short-keys", "wep = \"wep-40\""),
            ("many-periods", "rrkm_period = \"2 s\"\nrrkm_hash = \"md5\"\nclock_drift = 200"),
        ]),
        Wpa2Psk | Wpa2Eap | Wpa3Sae | Wpa3Eap => {
            all.extend([
                ("gcmp", "pairwise = \"gcmp-256\""),
                ("group", "group_rekey = \"60 s\""),
                ("roaming", "roam_after = \"20 s\""),
                ("roaming-fast", "roam_after = \"20 s\"\nroaming = \"fast-transition\""),
            ]);
            let caches = admission != Wpa2Psk;
            all.extend(
                caches.then_some(("roaming-cached", "roam_after = \"20 s\"\nroaming = \"pmksa-caching\"")),
            );
        }
    }
    if matches!(admission, Wpa2Psk | Wpa2Eap) {
        all.extend([
            ("unprotected", "management_protection = \"never\""),
            ("protected", "management_protection = \"required\""),
        ]);
    }
    if method.eap().is_some() {
        all.extend([("accounting", "accounting = true"), ("quiet", "quiet_period = \"60 s\"")]);
        all.extend((!method.has_card()).then_some(("inside", "eap_server = \"access-point\"")));
    }
    all.into_iter().chain(of_eap(method)).collect()
}

/// Options of cards and of TLS, whatever carries EAP.
fn of_eap(method: &'static Method) -> Vec<(&'static str, &'static str)> {
    let mut all = Vec::new();
    if method.has_card() {
        all.push(("batch", "vector_batch = 3"));
        let asks = method.has(&NAMED_BEFORE_EAP);
        all.extend(match asks {
            true => [
                ("pseudonyms", "eap_identity = true\npseudonyms = true"),
                ("fast", "eap_identity = true\nfast_reauth = 2"),
            ],
            false => [("pseudonyms", "pseudonyms = true"), ("fast", "fast_reauth = 2")],
        });
    }
    if method.eap().is_some_and(|eap| eap.proof == Proof::Sim) {
        all.push(("triplets", "triplets = 2"));
    }
    if method.has_tls() {
        all.extend([
            ("tls-1.2", "tls = \"1.2\""),
            ("eap-fragments", "eap_fragment = \"256 B\""),
            ("resumption", "resumption = true"),
        ]);
    }
    all
}

fn of_ike(method: &'static Method) -> Vec<(&'static str, &'static str)> {
    let name = method.name();
    let eap = method.eap();
    let mut all =
        vec![("plain", ""), ("brief", "reauth_lifetime = \"8 s\""), ("tunnel", "mode = \"tunnel\"")];
    all.extend([("ipv4", "ipv6 = false"), ("rekey-child", "rekey_child = \"60 s\"")]);
    match method.phase1() {
        Some(_) => all.push(("pfs", "pfs = true")),
        None => all.extend([
            ("childless", "childless = true"),
            ("rekey", "rekey_ike = \"90 s\"\nrekey_child = \"60 s\""),
            ("rekey-ike", "rekey_ike = \"60 s\""),
            ("cookies", "cookies = \"always\""),
            ("address", "virtual_address = true\nmode = \"tunnel\""),
            ("ip-fragments", "fragmentation = false"),
        ]),
    }
    if method.phase1().is_some() && name.contains("rsa") {
        all.push(("raw-keys", "raw_keys = true"));
    }
    if method.has_chain() {
        all.push(("chain", "chain = 4"));
    }
    if let Some(eap) = eap {
        all.extend([("eap-identity", "eap_identity = true"), ("accounting", "accounting = true")]);
        all.push(("gateway-psk", "gateway_auth = \"psk\""));
        if eap.proves_server() {
            all.push(("eap-only", "gateway_auth = \"eap-only\""));
        }
    }
    all.into_iter().chain(of_eap(method)).collect()
}

/// Every field with whether it differs from the default. No field can be left out: an option that is new does not compile
/// before it stands here.
macro_rules! differing {
    ($name:literal, $kind:path { $($field:ident),* $(,)? }, $value:expr) => {{
        use $kind as Kind;
        let (Kind { $($field),* }, default) = ($value, Kind::default());
        vec![$((concat!($name, stringify!($field)), *$field != default.$field)),*]
    }};
}

/// Every option of a row, and whether the row changes it.
fn differences(row: &RowPlan) -> impl Iterator<Item = (&'static str, bool)> {
    let Options { ike, hip, wlan, certificates, ipsec, eap, tls, ipv6, makers, hss_store, fault, traffic } =
        &row.options;
    let ike = ike_differences(ike);
    let hip = differing!(
        "hip.",
        families::hip::Options {
            host_identity,
            p256_hash,
            groups,
            ciphers,
            dex,
            aka,
            puzzle_bits,
            encrypt_host_id,
            rekey_with_new_keys,
            unused_after,
            move_after,
            retransmission,
        },
        hip
    );
    let wlan = differing!(
        "wlan.",
        wlan::Options {
            wep,
            rrkm,
            pairwise,
            management,
            eap_server,
            quiet_period,
            group_rekey,
            stays_idle,
            roam_after,
            roaming,
        },
        wlan
    );
    let certificates =
        differing!("certificates.", options::certificates::Options { chain, crls }, certificates);
    let ipsec = differing!("ipsec.", options::ipsec::Options { mode, rekey_after, limits }, ipsec);
    let eap = differing!(
        "eap.",
        options::eap::Options { asks_identity, vector_batch, triplets, pseudonyms, fast_reauth, accounting },
        eap
    );
    let tls = differing!("tls.", options::tls::Tls { version, key, fragment_bytes, resumption }, tls);
    let default = Options::default();
    let whole = [
        ("ipv6", *ipv6 != default.ipv6),
        ("makers", *makers != default.makers),
        ("hss_store", *hss_store != default.hss_store),
        ("fault", *fault != default.fault),
        ("traffic", *traffic != default.traffic),
    ];
    [ike, hip, wlan, certificates, ipsec, eap, tls].into_iter().flatten().chain(whole)
}

/// Those of IKE.
fn ike_differences(ike: &families::ike::Options) -> Vec<(&'static str, bool)> {
    differing!(
        "ike.",
        families::ike::Options {
            reauth_lifetime,
            signatures,
            rsa_bits,
            raw_keys,
            pfs,
            childless,
            fragment_bytes,
            cookies,
            half_open_max,
            rekey_after,
            gateway_auth,
            gateway_key,
            virtual_address,
            retransmission,
        },
        ike
    )
}

/// They change what messages hold, or what is carried afterwards, but not which messages there are; or whose programs speak.
const NOT_SWEPT: [&str; 15] = [
    "ike.signatures",
    "ike.rsa_bits",
    "ike.gateway_key",
    "hip.host_identity",
    "hip.p256_hash",
    "hip.groups",
    "hip.ciphers",
    "hip.retransmission",
    "certificates.crls",
    "ike.half_open_max",
    "ipsec.limits",
    "ike.retransmission",
    "makers",
    "traffic",
    "tls.key",
];

#[test]
fn every_option_has_its_place_in_the_sweep() {
    let mut swept: BTreeMap<&str, bool> = BTreeMap::new();
    for (method, variant) in cells() {
        for row in plan(method, &variant, &[0]).unwrap().rows {
            differences(&row).for_each(|(name, differs)| *swept.entry(name).or_default() |= differs);
        }
    }
    let left_out: Vec<_> = swept.into_iter().filter(|(_, differs)| !differs).map(|(name, _)| name).collect();
    let mut not_swept = NOT_SWEPT;
    not_swept.sort_unstable();
    assert_eq!(left_out, not_swept);
}

/// What a case does to the packets of a link, in percent and milliseconds.
struct Weather {
    seed: u64,
    loss: u64,
    duplicate: u64,
    reorder: u64,
    corrupt: u64,
    delay: u64,
    jitter: u64,
}

impl Weather {
    fn of(method: &'static Method, variant: &Variant, seed: u64) -> Self {
        let mut rng = Rng::named(seed, &format!("weather of {}/{}", method.name(), variant.name));
        let mut one_of = |values: &[u64]| values[usize::try_from(rng.below(values.len() as u64)).unwrap()];
        let loss: Vec<u64> = LOSS.collect();
        Self {
            seed,
            loss: one_of(&loss),
            duplicate: one_of(&DUPLICATE),
            reorder: one_of(&REORDER),
            corrupt: one_of(&[0, 5]),
            delay: one_of(&[1, 30, 300]),
            jitter: one_of(&[0, 10]),
        }
    }
}

const LOSS: std::ops::RangeInclusive<u64> = 1..=40;
const DUPLICATE: [u64; 3] = [0, 5, 20];
const REORDER: [u64; 3] = [0, 10, 30];

impl Display for Weather {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { seed, loss, duplicate, reorder, corrupt, delay, jitter } = self;
        writeln!(
            f,
            "[[networks]]\nname = \"seed-{seed}\"\nloss = \"{loss} %\"\nduplicate = \"{duplicate} %\""
        )?;
        writeln!(
            f,
            "reorder = \"{reorder} %\"\ncorrupt = \"{corrupt} %\"\ndelay = \"{delay} ms\"\njitter = \"{jitter} ms\""
        )
    }
}

/// What is swept if nobody says otherwise is what was meant to be: thousands of cases, and every weather.
#[test]
fn the_sweep_has_thousands_of_seeds_and_every_weather() {
    let cells = cells();
    assert!(cells.len() as u64 * SEEDS >= 3000, "{} cells", cells.len());
    let weather = cells.iter().flat_map(|(method, variant)| {
        (0..SEEDS).map(|seed| Weather::of(method, variant, seed)).collect::<Vec<_>>()
    });
    let weather: Vec<_> = weather.collect();
    let all = |of: fn(&Weather) -> u64| weather.iter().map(of).collect::<BTreeSet<_>>();
    assert_eq!(all(|it| it.loss), LOSS.collect());
    assert_eq!(all(|it| it.duplicate), BTreeSet::from(DUPLICATE));
    assert_eq!(all(|it| it.reorder), BTreeSet::from(REORDER));
}

/// All seeds of a method and a set of options; each is a row.
fn plan(method: &'static Method, variant: &Variant, seeds: &[u64]) -> Result<Plan, String> {
    let lifetime = match method.family.name {
        _ if variant.is_short_lived() => "",
        "hip" => "unused_after = \"600 s\"\n",
        "wlan" => "stays_idle = \"600 s\"\n",
        _ => "reauth_lifetime = \"600 s\"\n",
    };
    let networks: String = seeds.iter().map(|&seed| Weather::of(method, variant, seed).to_string()).collect();
    let crypto = if variant.operation_ns.is_some() {
        "crypto = \"table\"\ncosts = \"flat\""
    } else {
        "crypto = \"null\""
    };
    let text = format!(
        "title = \"sweep\"\nseed = 1\nsamples = {SAMPLES}\ninterval = \"1000 s\"\n{crypto}\nmethods = [\"{}\"]\n\
         [options]\n{lifetime}{}\n{networks}",
        method.name(),
        variant.options
    );
    let plan = Source::text("sweep.toml", &text).plan(&Overrides::default());
    plan.map_err(|error| format!("{}/{} is no scenario: {error}\n{text}", method.name(), variant.name))
}

/// SPIs of an SA for traffic as one end has them: inbound, outbound.
type Pair = (u32, u32);

/// Which SAs each end holds, as its events tell.
#[derive(Default)]
struct Books {
    ue: BTreeSet<Pair>,
    gw: BTreeSet<Pair>,
    /// Since when the device can use what it has; until that was looked at.
    usable: Option<Time>,
    gateway: Excuses,
    complaints: Vec<String>,
}

/// Why the gateway may rightly lack a child that the device has.
#[derive(Default)]
struct Excuses {
    /// The session of every child that it has ever had, by the SPI that it received on.
    children: BTreeMap<u32, SessionId>,
    /// IKE SAs that it has closed, for the answers to its own request were all lost.
    silent: BTreeSet<SessionId>,
    /// Whose place a child of the device has taken: the SPIs that the gateway receives on.
    predecessors: BTreeMap<u32, u32>,
    /// It has waited in vain for the last message of a quick mode (RFC 2409 §5.5), which nobody acknowledges.
    unconfirmed: bool,
}

impl Excuses {
    fn note(&mut self, event: &Event) {
        match event {
            Event::ChildUp(child) | Event::ChildRekeyed { new: child, .. } => {
                self.children.insert(child.inbound_spi, child.session);
            }
            Event::Rekeyed { old, new } => {
                self.children
                    .values_mut()
                    .filter(|session| *session == old)
                    .for_each(|session| *session = *new);
            }
            Event::Closed { session, why } if why.name.ends_with(Reason::TIMEOUT.name) => {
                self.silent.insert(*session);
            }
            Event::ChildFailed { why, .. } if *why == Reason::TIMEOUT => self.unconfirmed = true,
            // Nobody confirms the last message of a 4-way handshake, nor that of EAP.
            Event::Failed(failure) if failure.why.name.ends_with(Reason::TIMEOUT.name) => {
                self.silent.extend(failure.session);
            }
            _ => {}
        }
    }

    /// Whether it may lack the child that it would receive on this SPI.
    fn covers(&self, spi: u32, method: &'static Method) -> bool {
        let (child, is_v1) = (self.children.get(&spi), method.phase1().is_some());
        let predecessor = self.predecessors.get(&spi);
        // Who has answered a rekey takes the new child for good when the old one is deleted.
        let session = child.or_else(|| self.children.get(predecessor?));
        if method.own::<wlan::Admission>().is_some() {
            return !self.silent.is_empty();
        }
        let is_unconfirmed = is_v1 && child.is_none() && self.unconfirmed;
        is_unconfirmed || session.is_some_and(|session| self.silent.contains(session))
    }
}

impl Books {
    fn note(&mut self, at: Time, node: Node, event: &Event, method: &'static Method, variant: &Variant) {
        if self.usable.is_some_and(|usable| at.since(usable) >= SETTLED) {
            self.usable = None;
            self.compare(at, method, variant);
        }
        match node {
            Node::Ue => {
                self.note_succession(event);
                apply(&mut self.ue, event);
            }
            Node::Gw | Node::Ap => {
                apply(&mut self.gw, event);
                self.gateway.note(event);
            }
            _ => {}
        }
        match (node, event) {
            (Node::Ue, Event::Usable) => (self.usable, self.gateway.unconfirmed) = (Some(at), false),
            // It gives up by itself where IKE has said nothing, which IKE never may.
            (Node::Ue, Event::GaveUp(failure)) => {
                self.complaints.push(format!("at {at:?} ue had to give up by itself: {}", failure.why.name));
            }
            // It has said why it has it no more.
            (Node::Ue, event) if is_end(event) && self.ue.is_empty() => self.usable = None,
            _ => {}
        }
    }

    fn note_succession(&mut self, event: &Event) {
        let Event::ChildRekeyed { old, new } = event else { return };
        if let Some((_, old)) = self.ue.iter().find(|child| child.0 == *old) {
            self.gateway.predecessors.insert(new.outbound_spi, *old);
        }
    }

    fn compare(&mut self, at: Time, method: &'static Method, variant: &Variant) {
        let is_mirrored = |child: &&Pair| self.gw.contains(&(child.1, child.0));
        let (mirrored, lacking): (Vec<&Pair>, Vec<&Pair>) = self.ue.iter().partition(is_mirrored);
        let is_enough = lacking.is_empty() || (variant.rekeys && !mirrored.is_empty());
        let is_excused = lacking.iter().all(|child| self.gateway.covers(child.1, method));
        if !is_enough && !is_excused && !variant.damaged {
            self.complaints.push(format!("at {at:?} ue holds {:x?}, gw {:x?}", self.ue, self.gw));
        }
    }
}

fn is_end(event: &Event) -> bool {
    let is_told = |event: &Event| event.is_failure() && !matches!(event, Event::GaveUp(_));
    matches!(event, Event::ChildDown(_) | Event::Closed { .. }) || is_told(event)
}

fn apply(children: &mut BTreeSet<Pair>, event: &Event) {
    match event {
        Event::ChildUp(Child { inbound_spi, outbound_spi, .. })
        | Event::ChildRekeyed { new: Child { inbound_spi, outbound_spi, .. }, .. } => {
            children.insert((*inbound_spi, *outbound_spi));
        }
        Event::ChildDown(spi) => children.retain(|child| child.0 != *spi),
        // There is one association of 802.11 between the two, and no more in it.
        Event::Established(up) if is_association(up.session) => {
            children.insert(ASSOCIATION);
        }
        Event::Closed { session, .. } if is_association(*session) => {
            children.remove(&ASSOCIATION);
        }
        _ => {}
    }
}

/// What stands in the books for the association of station and access point.
const ASSOCIATION: Pair = (1, 1);

/// Associations of 802.11 are named by addresses, locally administered ones here.
const fn is_association(session: SessionId) -> bool {
    session.0 >> 40 == 2
}

/// How each authentication of a row began and ended.
#[derive(Default)]
struct Ends(BTreeMap<u32, [u32; 2]>);

impl Recorder for Ends {
    fn record(&mut self, Record { node, sample, fact, .. }: Record) {
        if node != Node::Ue {
            return;
        }
        let [begun, ended] = self.0.entry(sample).or_default();
        match fact {
            Fact::Triggered => *begun += 1,
            Fact::Usable | Fact::Failed { .. } | Fact::Refused { .. } => *ended += 1,
            _ => {}
        }
    }
}

impl Keeper for Ends {
    fn cost(&mut self, _cost: Cost) {}
}

/// Every method with every set of options.
fn cells() -> Vec<(&'static Method, Variant)> {
    let of = |method: &'static Method| variants(method).into_iter().map(move |variant| (method, variant));
    Method::all().flat_map(of).collect()
}

/// What is wrong with a case; nothing, if all is well.
fn run(plan: &Plan, index: usize, credentials: &Credentials, variant: Rc<Variant>) -> Vec<String> {
    let (mut ends, books) = (Ends::default(), Rc::new(RefCell::new(Books::default())));
    let mut row = Row::new(plan, &plan.rows[index], credentials, 3e9);
    if let Some(operation_ns) = variant.operation_ns {
        row.charge(&Arc::new(Prices::flat(operation_ns)));
    }
    let noted = Rc::clone(&books);
    let method = plan.rows[index].method;
    row.watch(Box::new(move |at, node, event| noted.borrow_mut().note(at, node, event, method, &variant)));
    let end = row.run(&mut ends, &|| {}, &Stop::new(false));
    let mut complaints = Vec::new();
    if !end.is_whole() || end.samples != SAMPLES {
        complaints.push(format!("{end:?}"));
    }
    for sample in 0..SAMPLES {
        let [begun, ended] = ends.0.get(&sample).copied().unwrap_or_default();
        if begun != 1 || ended == 0 {
            complaints.push(format!("authentication {sample} began {begun} times, ended {ended} times"));
        }
    }
    row.pass(FORGOTTEN, &mut ends);
    complaints.extend(row.hosts().flat_map(|(node, host)| held(node, host)));
    let books = books.borrow();
    if !(books.ue.is_empty() && books.gw.is_empty()) {
        complaints.push(format!("children at the end: ue {:x?}, gw {:x?}", books.ue, books.gw));
    }
    complaints.extend(books.complaints.iter().cloned());
    complaints
}

/// What a host still holds.
fn held(node: Node, host: &dyn Host) -> Vec<String> {
    let some = host.holds().into_iter().filter(|(_, count)| *count > 0);
    some.map(|(what, count)| format!("{}: {what}: {count}", node.name())).collect()
}

/// All seeds of one method and set of options.
fn sweep(method: &'static Method, variant: Variant, seeds: &[u64], failed: &Mutex<Vec<String>>) {
    let (plan, variant) = match plan(method, &variant, seeds) {
        Ok(plan) => (plan, Rc::new(variant)),
        Err(error) => return failed.lock().unwrap().push(error),
    };
    let credentials = Credentials::prepare(&plan);
    for (index, seed) in seeds.iter().enumerate() {
        let outcome = catch_unwind(AssertUnwindSafe(|| run(&plan, index, &credentials, Rc::clone(&variant))));
        let complaints = outcome.unwrap_or_else(|_| vec!["panicked".to_owned()]);
        if !complaints.is_empty() {
            let case = format!("{}/{}/{seed}", method.name(), variant.name);
            failed.lock().unwrap().push(format!("{case}: {}\n  {}", complaints.join("; "), replay(&case)));
        }
    }
}

/// The command that runs one case alone.
fn replay(case: &str) -> String {
    let (program, module) = module_path!().split_once("::").unwrap();
    format!(
        "KEYTOLL_SWEEP_CASE={case} cargo test -p keytoll-lab --test {program} {module}::whole_hosts_come_to_an_end -- --nocapture"
    )
}

#[test]
fn whole_hosts_come_to_an_end_in_any_weather() {
    let only = std::env::var("KEYTOLL_SWEEP_CASE").ok();
    let mut wanted = only.as_deref().map(|case| case.split('/').collect::<Vec<_>>());
    let seeds = std::env::var("KEYTOLL_SWEEP_SEEDS").map_or(SEEDS, |text| text.parse().unwrap());
    let mut seeds: Vec<u64> = (0..seeds).collect();
    if let Some([_, _, seed]) = wanted.as_deref_mut() {
        seeds = vec![seed.parse().unwrap()];
    }
    let methods = std::env::var("KEYTOLL_SWEEP_METHODS").unwrap_or_default();
    let is_wanted = |method: &'static Method, variant: &Variant| match wanted.as_deref() {
        Some([name, options, _]) => method.name() == *name && variant.name == *options,
        Some(case) => panic!("a case is method/options/seed: {case:?}"),
        None => method.name().starts_with(&methods),
    };
    let cells = cells().into_iter().filter(|(method, variant)| is_wanted(method, variant));
    let cells: Vec<(&'static Method, Mutex<Option<Variant>>)> =
        cells.map(|(method, variant)| (method, Mutex::new(Some(variant)))).collect();
    assert!(!cells.is_empty(), "no such case: {only:?}");
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((method, variant)) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    sweep(method, variant.lock().unwrap().take().unwrap(), &seeds, &failed);
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    let count = cells.len() * seeds.len();
    println!("{count} cases, {} authentications, {} cells", count * SAMPLES as usize, cells.len());
    assert!(failed.is_empty(), "{} of {count} cases failed:\n{}", failed.len(), failed.join("\n"));
}
