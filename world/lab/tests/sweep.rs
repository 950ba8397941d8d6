//! The fault sweep: whole hosts, every method with every option that changes its exchanges, over links that lose, repeat,
//! reorder and damage. Each authentication ends in agreement or in a failure with a name, each row has as many as planned, and
//! in the end nobody holds anything.
//!
//! A case is a method, a set of options and a seed; the seed makes the weather and everything random. `KEYTOLL_SWEEP_SEEDS`
//! says how many seeds each method and set of options gets; `KEYTOLL_SWEEP_CASE=method/options/seed` runs one case alone.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use keytoll_engine::{Rng, Time};
use keytoll_hosts::{Child, Event, Host};
use keytoll_ike::v2;
use keytoll_lab::{Cost, Credentials, Keeper, Record, Recorder, Row, Stop};
use keytoll_scenario::catalogue::{EapKind, Fault, Method};
use keytoll_scenario::plan::{Options, Plan};
use keytoll_scenario::{Overrides, Source};
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
}

impl Variant {
    fn new(name: &str, options: &str) -> Self {
        let rekeys = options.contains("rekey_");
        Self { name: name.to_owned(), options: options.to_owned(), rekeys, damaged: false }
    }

    fn fault(fault: Fault) -> Self {
        let damaged = fault == Fault::ChecksumsIgnored;
        Self { damaged, ..Self::new(fault.name(), &format!("fault = \"{}\"", fault.name())) }
    }

    fn is_short_lived(&self) -> bool {
        self.options.contains("reauth_lifetime")
    }
}

/// Every set of options that changes what a method's nodes say to each other.
fn variants(method: Method) -> Vec<Variant> {
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
    if method.key_kind().is_some() {
        all.push(("chain", "chain = 4"));
    }
    if let Some(kind) = eap {
        all.extend([("eap-identity", "eap_identity = true"), ("accounting", "accounting = true")]);
        all.push(("gateway-psk", "gateway_auth = \"psk\""));
        if !matches!(kind, EapKind::Md5 | EapKind::MschapV2) {
            all.push(("eap-only", "gateway_auth = \"eap-only\""));
        }
    }
    if matches!(eap, Some(EapKind::Sim | EapKind::Aka | EapKind::AkaPrime)) {
        all.extend([
            ("batch", "vector_batch = 3"),
            ("pseudonyms", "eap_identity = true\npseudonyms = true"),
            ("fast", "eap_identity = true\nfast_reauth = 2"),
        ]);
    }
    if eap == Some(EapKind::Sim) {
        all.push(("triplets", "triplets = 2"));
    }
    if name.contains("tls") || name.contains("peap") {
        all.extend([
            ("tls-1.2", "tls = \"1.2\""),
            ("eap-fragments", "eap_fragment = \"256 B\""),
            ("resumption", "resumption = true"),
        ]);
    }
    let faults = Fault::ALL.into_iter().filter(|fault| fault.concerns(method) && !fault.is_wrong_key());
    all.into_iter()
        .map(|(name, options)| Variant::new(name, options))
        .chain(faults.map(Variant::fault))
        .collect()
}

/// An option that is new has to say where it stands here.
#[test]
fn every_option_has_its_place_in_the_sweep() {
    // Swept above.
    let Options { reauth_lifetime: _, chain: _, raw_keys: _, pfs: _, mode: _, childless: _, .. } =
        Options::default();
    let Options { fragment_bytes: _, cookies: _, rekey_ike: _, rekey_child: _, eap_identity: _, .. } =
        Options::default();
    let Options { gateway_auth: _, vector_batch: _, triplets: _, pseudonyms: _, .. } = Options::default();
    let Options { fast_reauth: _, accounting: _, tls: _, virtual_address: _, ipv6: _, fault: _, .. } =
        Options::default();
    // Change what messages hold, or what is carried afterwards, but not which messages there are; or whose programs speak.
    let Options {
        signatures: _,
        rsa_bits: _,
        gateway_key: _,
        crls: _,
        half_open_max: _,
        sa_limits: _,
        retransmission: _,
        makers: _,
        traffic: _,
        ..
    } = Options::default();
    let count = format!("{:?}", Options::default()).matches(": ").count();
    assert!(count >= 27, "{count}");
}

/// What a seed does to the packets of a link.
fn weather(seed: u64) -> String {
    let mut rng = Rng::named(seed, "weather");
    let mut one_of = |values: &[u64]| values[usize::try_from(rng.below(values.len() as u64)).unwrap()];
    let loss: Vec<u64> = (1..=40).collect();
    let (loss, duplicate, reorder) = (one_of(&loss), one_of(&[0, 5, 20]), one_of(&[0, 10, 30]));
    let (corrupt, delay, jitter) = (one_of(&[0, 5]), one_of(&[1, 30, 300]), one_of(&[0, 10]));
    format!(
        "[[networks]]\nname = \"seed-{seed}\"\nloss = \"{loss} %\"\nduplicate = \"{duplicate} %\"\nreorder = \"{reorder} %\"\n\
         corrupt = \"{corrupt} %\"\ndelay = \"{delay} ms\"\njitter = \"{jitter} ms\"\n"
    )
}

/// All seeds of a method and a set of options; each is a row.
fn plan(method: Method, variant: &Variant, seeds: &[u64]) -> Result<Plan, String> {
    let lifetime = if variant.is_short_lived() { "" } else { "reauth_lifetime = \"600 s\"\n" };
    let networks: String = seeds.iter().copied().map(weather).collect();
    let text = format!(
        "title = \"sweep\"\nseed = 1\nsamples = {SAMPLES}\ninterval = \"1000 s\"\ncrypto = \"null\"\nmethods = [\"{}\"]\n\
         [options]\n{lifetime}{}\n{networks}",
        method.name(),
        variant.options
    );
    let plan = Source::text("sweep.toml", &text).plan(&Overrides::default());
    plan.map_err(|error| format!("{}/{} is no scenario: {error}\n{text}", method.name(), variant.name))
}

/// Which SAs each end holds, as its events tell.
#[derive(Default)]
struct Books {
    ue: BTreeSet<(u32, u32)>,
    gw: BTreeSet<(u32, u32)>,
    /// Since when the device can use what it has; until that was looked at.
    usable: Option<Time>,
    /// The gateway has said why it has no child.
    excused: bool,
    complaints: Vec<String>,
}

impl Books {
    fn note(&mut self, at: Time, node: Node, event: &Event, variant: &Variant) {
        if self.usable.is_some_and(|usable| at.since(usable) >= SETTLED) {
            self.usable = None;
            self.compare(at, variant);
        }
        match node {
            Node::Ue => apply(&mut self.ue, event),
            Node::Gw => apply(&mut self.gw, event),
            _ => return,
        }
        use v2::Event::{ChildFailed, Closed, Failed};
        let is_end =
            matches!(event, Event::ChildDown(_) | Event::Ike(ChildFailed(..) | Closed(..) | Failed(..)));
        match (node, event) {
            (Node::Ue, Event::Usable) => (self.usable, self.excused) = (Some(at), false),
            // It has said why it has it no more.
            (Node::Ue, _) if is_end && self.ue.is_empty() => self.usable = None,
            (Node::Gw, _) if is_end => self.excused = true,
            _ => {}
        }
    }

    fn compare(&mut self, at: Time, variant: &Variant) {
        let is_mirrored = |child: &&(u32, u32)| self.gw.contains(&(child.1, child.0));
        let mirrored = self.ue.iter().filter(is_mirrored).count();
        let wanted = if variant.rekeys { self.ue.len().min(1) } else { self.ue.len() };
        if mirrored < wanted && !self.excused && !variant.damaged {
            self.complaints.push(format!("at {at:?} ue holds {:x?}, gw {:x?}", self.ue, self.gw));
        }
    }
}

fn apply(children: &mut BTreeSet<(u32, u32)>, event: &Event) {
    match event {
        Event::ChildUp(Child { inbound_spi, outbound_spi, .. })
        | Event::ChildRekeyed { new: Child { inbound_spi, outbound_spi, .. }, .. } => {
            children.insert((*inbound_spi, *outbound_spi));
        }
        Event::ChildDown(spi) => children.retain(|child| child.0 != *spi),
        _ => {}
    }
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

/// What is wrong with a case; nothing, if all is well.
fn run(plan: &Plan, index: usize, credentials: &Credentials, variant: Rc<Variant>) -> Vec<String> {
    let (mut ends, books) = (Ends::default(), Rc::new(RefCell::new(Books::default())));
    let mut row = Row::new(plan, &plan.rows[index], credentials, 3e9);
    let noted = Rc::clone(&books);
    row.watch(Box::new(move |at, node, event| noted.borrow_mut().note(at, node, event, &variant)));
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
    complaints.extend(row.hosts().flat_map(|(_, host)| held(host)));
    let books = books.borrow();
    if !(books.ue.is_empty() && books.gw.is_empty()) {
        complaints.push(format!("children at the end: ue {:x?}, gw {:x?}", books.ue, books.gw));
    }
    complaints.extend(books.complaints.iter().cloned());
    complaints
}

/// What a host still holds.
fn held(host: &Host) -> Vec<String> {
    let counts = match host {
        Host::Device(device) => vec![("device: IKE SAs that are being closed", device.closing_count())],
        Host::Gateway(gateway) => vec![
            ("gateway: IKE SAs", gateway.ike_sa_count()),
            ("gateway: devices proving themselves", gateway.proving_count()),
            ("gateway: RADIUS requests", gateway.radius_outstanding()),
        ],
        Host::Aaa(aaa) => vec![
            ("AAA server: conversations", aaa.conversation_count()),
            ("AAA server: questions", aaa.question_count()),
        ],
        Host::Hss(_) => vec![],
    };
    counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| format!("{what}: {count}"))
        .collect()
}

/// All seeds of one method and set of options.
fn sweep(method: Method, variant: Variant, seeds: &[u64], failed: &Mutex<Vec<String>>) {
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
            failed.lock().unwrap().push(format!(
                "{case}: {}\n  KEYTOLL_SWEEP_CASE={case} cargo test -p keytoll-lab whole_hosts -- --nocapture",
                complaints.join("; ")
            ));
        }
    }
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
    let is_wanted = |method: Method, variant: &Variant| match wanted.as_deref() {
        Some([name, options, _]) => method.name() == *name && variant.name == *options,
        Some(case) => panic!("a case is method/options/seed: {case:?}"),
        None => true,
    };
    let cells = Method::ALL.into_iter().flat_map(|method| {
        variants(method)
            .into_iter()
            .filter(|variant| is_wanted(method, variant))
            .map(move |it| (method, it))
            .collect::<Vec<_>>()
    });
    let cells: Vec<(Method, Mutex<Option<Variant>>)> =
        cells.map(|(method, variant)| (method, Mutex::new(Some(variant)))).collect();
    assert!(!cells.is_empty(), "no such case: {only:?}");
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((method, variant)) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    sweep(*method, variant.lock().unwrap().take().unwrap(), &seeds, &failed);
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    let count = cells.len() * seeds.len();
    println!("{count} cases, {} authentications, {} cells", count * SAMPLES as usize, cells.len());
    assert!(failed.is_empty(), "{} of {count} cases failed:\n{}", failed.len(), failed.join("\n"));
}
