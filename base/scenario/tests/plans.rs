//! Plans of scenarios, printed and parsed again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::time::Duration;

use keytoll_crypto_api::algorithm::{Group, KeyKind, SignatureScheme};
use keytoll_crypto_api::suite::Suite;
use keytoll_engine::trace::Node;
use keytoll_scenario::catalogue::airs::{AIRS, Air};
use keytoll_scenario::catalogue::facet::IPSEC;
use keytoll_scenario::catalogue::scenarios::BUILTIN;
use keytoll_scenario::catalogue::suites::{DEFAULT_ESP, DEFAULT_IKEV1};
use keytoll_scenario::catalogue::{Fault, Impairments, List, Method, Topology, networks, signatures};
use keytoll_scenario::families::ike::{CookiePolicy, GatewayAuth, Retransmission};
use keytoll_scenario::families::{hip, ike, wlan};
use keytoll_scenario::plan::{
    Basis, Chain, CpuProfile, CryptoMode, Direction, Exponents, Maker, Makers, Mode, Network, Options,
    RowPlan, SaLimits, Tls, TlsVersion, Traffic, TrafficDirection, TrafficKind, WorldKind,
};
use keytoll_scenario::population::Spread;
use keytoll_scenario::quantity::Probability;
use keytoll_scenario::{Overrides, Plan, Source, builtin, parse};
use proptest::option;
use proptest::prelude::*;

/// `method network variant` of every row.
fn rows(plan: &Plan) -> Vec<String> {
    let line = |row: &RowPlan| format!("{} {} {}", row.method.name(), row.network.name, row.variant);
    plan.rows.iter().map(|row| line(row).trim_end().to_owned()).collect()
}

#[test]
fn every_scenario_in_the_folder_is_built_in_and_resolves() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut names = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect::<Vec<_>>();
    let mut builtins = BUILTIN.iter().map(|builtin| builtin.name.to_owned()).collect::<Vec<_>>();
    names.sort();
    builtins.sort();
    assert_eq!(names, builtins);
    for scenario in BUILTIN {
        let plan = builtin(scenario.name).unwrap();
        assert!(scenario.text.starts_with("# "), "{} opens with a paragraph", scenario.name);
        assert_eq!(parse(scenario.name, &plan.to_toml()).unwrap(), plan);
    }
}

#[test]
fn the_quickstart_is_what_the_readme_promises() {
    let plan = builtin("quickstart").unwrap();
    let mut methods: Vec<_> = plan.rows.iter().map(|row| row.method).collect();
    methods.dedup();
    // Of EAP methods with the same credential, in TLS or not, one may represent the others.
    let credential = |method: &Method| method.eap().map(|eap| (eap.proof, eap.has_tls));
    let is_ikev2 = |method: &&Method| method.own::<ike::Exchange>().is_some() && method.phase1().is_none();
    for method in Method::all().filter(is_ikev2).filter(|method| !methods.contains(method)) {
        let stands_for_it =
            |other: &&'static Method| method.eap().is_some() && credential(other) == credential(method);
        assert!(methods.iter().any(stands_for_it), "{}", method.name());
    }
    let every_ikev2_method = methods
        .iter()
        .flat_map(|method| ["wifi-11g", "umts-r99-64"].map(|network| format!("{} {network}", method.name())));
    assert_eq!(rows(&plan), every_ikev2_method.collect::<Vec<_>>());
    assert_eq!(plan.authentications(), 30 * plan.rows.len() as u64);
    let row = &plan.rows[1];
    assert_eq!(row.network.up.rate_bits_per_s, Some(64_000));
    assert_eq!(row.network.down.rate_bits_per_s, Some(384_000));
    assert_eq!(row.network.up.delay, Duration::from_millis(222));
    assert_eq!(row.network.up.impairments.get("loss"), [Probability::from_parts_per_billion(2_000_000)]);
    assert_eq!(row.options.ike.reauth_lifetime, Duration::from_secs(8));
}

#[test]
fn one_suite_needs_no_list() {
    let text = "methods = 'ikev2-psk'\nnetworks = 'lte'\nsuites = 'aes128gcm16-prfsha256-ecp256'";
    assert_eq!(rows(&parse("one.toml", text).unwrap()), ["ikev2-psk lte suite=aes128gcm16-prfsha256-ecp256"]);
}

#[test]
fn sweeps_multiply_and_name_their_rows() {
    let text = "
        methods = ['ikev2-psk', 'ikev2-rsa2048']
        networks = 'lte'
        suites = ['aes128gcm16-prfsha256-x25519', '3des-md5-modp1024']
        [sweep]
        chain = [2, [4, 1]]
    ";
    let plan = parse("sweep.toml", text).unwrap();
    assert_eq!(
        rows(&plan),
        [
            "ikev2-psk lte suite=aes128gcm16-prfsha256-x25519",
            "ikev2-psk lte suite=3des-md5-prfmd5-modp1024",
            "ikev2-rsa2048 lte suite=aes128gcm16-prfsha256-x25519 chain=2,2",
            "ikev2-rsa2048 lte suite=aes128gcm16-prfsha256-x25519 chain=4,1",
            "ikev2-rsa2048 lte suite=3des-md5-prfmd5-modp1024 chain=2,2",
            "ikev2-rsa2048 lte suite=3des-md5-prfmd5-modp1024 chain=4,1",
        ]
    );
    assert_eq!(plan.rows[3].options.certificates.chain, Chain { initiator: 4, responder: 1 });
}

#[test]
fn settings_of_tls_name_the_rows_of_methods_with_tls_and_no_others() {
    let text = "
        methods = ['ikev2-rsa2048', 'ikev2-eap-md5', 'ikev2-eap-tls', 'ikev2-eap-peap-mschapv2']
        networks = 'lte'
        [options]
        eap_fragment = 1400
        tls_key = 'ecdsa-p256'
        [sweep]
        tls = [1.2, '1.3']
        resumption = [true, false]
    ";
    let plan = parse("tls.toml", text).unwrap();
    let varied = |method: &'static str| {
        ["1.2", "1.3"].into_iter().flat_map(move |tls| {
            ["true", "false"].map(move |resumption| {
                format!(
                    "{method} lte tls={tls} tls_key=ecdsa-p256 eap_fragment=1400B resumption={resumption}"
                )
            })
        })
    };
    let expected = ["ikev2-rsa2048 lte", "ikev2-eap-md5 lte"].map(str::to_owned).into_iter();
    let expected = expected.chain(varied("ikev2-eap-tls")).chain(varied("ikev2-eap-peap-mschapv2"));
    assert_eq!(rows(&plan), expected.collect::<Vec<_>>());
    let tls =
        Tls { version: TlsVersion::Tls12, key: KeyKind::EcdsaP256, fragment_bytes: 1400, resumption: true };
    assert_eq!(plan.rows[2].options.tls, tls);
    assert_eq!(plan.rows[0].options.tls, Tls::default());
    assert_eq!(parse("again", &plan.to_toml()).unwrap(), plan);
}

#[test]
fn networks_build_on_presets_and_directions_can_differ() {
    let text = "
        methods = 'ikev2-psk'
        networks = { name = 'mine', base = 'umts-r99-64', delay = '30 ms', delay_up = '50 ms', loss_down = '1 %', down = 'unlimited', queue = '16 KiB' }
        [options]
        rekey_child = '1 min'
    ";
    let plan = parse("mine.toml", text).unwrap();
    let network = &plan.rows[0].network;
    assert_eq!(
        (network.down.delay, network.up.delay),
        (Duration::from_millis(30), Duration::from_millis(50))
    );
    assert_eq!((network.down.rate_bits_per_s, network.up.rate_bits_per_s), (None, Some(64_000)));
    assert_eq!(network.down.impairments.get("loss"), [Probability::from_parts_per_billion(10_000_000)]);
    assert_eq!(network.up.impairments, networks::named("umts-r99-64").unwrap().up.impairments);
    assert_eq!(network.up.queue_bytes_max, 16_384);
    assert_eq!(network.basis, Basis::Custom);
    assert_eq!(plan.rows[0].variant, "rekey_child=60s");
}

/// A label of the catalogue and a preset's name are those of its parameters alone.
#[test]
fn a_network_of_the_scenario_is_no_preset() {
    let network = |text: &str| {
        let plan = parse("mine", &format!("methods = 'ikev2-psk'\nnetworks = {text}")).unwrap();
        plan.rows[0].network.clone()
    };
    for basis in ["printed", "calibrated"] {
        let own = network(&format!("{{ name = 'mine', delay = '30 ms', basis = '{basis}' }}"));
        assert_eq!((own.basis, networks::note(&own)), (Basis::Custom, None));
    }
    let own = network("{ name = 'mine', delay = '30 ms', basis = 'derived' }");
    assert_eq!(own.basis, Basis::Derived);
    let renamed = network("{ name = 'umts-r99-64', delay = '30 ms' }");
    assert!(networks::note(&renamed).unwrap().starts_with("`umts-r99-64` is a network of the scenario"));
    let same = network("{ name = 'umts-r99-64', base = 'umts-r99-64' }");
    assert_eq!(networks::note(&same), None, "other words about the same parameters");
    let preset = network("'umts-r99-64'");
    assert_eq!((preset.basis, networks::note(&preset)), (Basis::Calibrated, None));
    let again =
        parse("again", &parse("mine", "methods = 'ikev2-psk'\nnetworks = 'umts-r99-64'").unwrap().to_toml());
    assert_eq!(again.unwrap().rows[0].network, preset, "as a run keeps it");
}

#[test]
fn overrides_replace_and_add() {
    let source = Source::builtin("quickstart").unwrap();
    let overrides = [
        "samples=5",
        "seed=18446744073709551615",
        "networks=lte",
        "options.mode=tunnel",
        "options.chain=[4, 2]",
        "cpus.ue=mips-125",
        "interval=2 s",
    ];
    let plan = source.plan(&Overrides::parse(&overrides).unwrap()).unwrap();
    let rows = builtin("quickstart").unwrap().rows.len();
    assert_eq!((plan.samples, plan.seed, plan.rows.len()), (5, u64::MAX, rows / 2));
    assert_eq!(plan.interval, Duration::from_secs(2));
    assert_eq!(plan.cpus[&Node::Ue].hz, Some(125e6));
    assert_eq!(plan.rows[1].variant, "chain=4,2 mode=tunnel");
    let changes =
        "networks = lte, options.mode = tunnel, options.chain = [4, 2], cpus.ue = mips-125, interval = 2 s";
    assert_eq!(plan.title, format!("IKEv2 with every credential, over WiFi and UMTS, with {changes}"));
    assert_eq!(parse("again", &plan.to_toml()).unwrap(), plan);
}

#[test]
fn a_title_is_changed_by_what_it_would_be_silent_about() {
    let title = |changes: &[&str]| {
        let plan = Source::text("one.toml", "title = 'Mine'\nmethods = 'ikev2-psk'\nnetworks = 'lte'\n");
        plan.plan(&Overrides::parse(changes).unwrap()).unwrap().title
    };
    assert_eq!(title(&["samples=5", "seed=2", "crypto=null"]), "Mine");
    assert_eq!(title(&["networks=[\"lte\", \"loopback\"]"]), "Mine, with networks = [\"lte\", \"loopback\"]");
    assert_eq!(title(&["networks=loopback", "title=Other"]), "Other");
    let long = format!("networks={{ name = \"mine\", source = \"{}\" }}", "x".repeat(190));
    assert_eq!(title(&[&long]), "Mine, with networks changed");
}

#[test]
fn other_makers_programs_are_swept_named_and_printed() {
    let text = "world = 'live'\nmethods = ['ikev2-psk', 'ikev2-eap-md5']\nnetworks = 'loopback'\n
                [options]\nmode = 'tunnel'\nvirtual_address = true\n
                [sweep]\ngw = ['keytoll', 'strongswan']\naaa = ['freeradius', 'hostapd']";
    let plan = parse("makers", text).unwrap();
    let variants: Vec<_> = plan.rows.iter().map(|row| row.variant.as_str()).collect();
    let common = "virtual_address=true mode=tunnel";
    let expected = [
        "gw=keytoll",
        "gw=strongswan",
        "gw=keytoll aaa=freeradius",
        "gw=keytoll aaa=hostapd",
        "gw=strongswan aaa=freeradius",
        "gw=strongswan aaa=hostapd",
    ];
    assert_eq!(variants, expected.map(|makers| format!("{common} {makers}")));
    assert_eq!(plan.rows[1].options.makers, Makers { gw: Maker::StrongSwan, ..Makers::default() });
    assert_eq!(parse("again", &plan.to_toml()).unwrap(), plan);
}

#[test]
fn every_name_in_the_catalogue_works_in_a_scenario() {
    let names =
        |list: List| list.entries().into_iter().map(|entry| format!("{:?}", entry.name)).collect::<Vec<_>>();
    let (of_ike, others): (Vec<_>, Vec<_>) =
        names(List::Methods).into_iter().partition(|name| name.contains("ike"));
    let (of_v1, of_v2): (Vec<_>, Vec<_>) = of_ike.into_iter().partition(|name| name.starts_with("\"ikev1-"));
    let all_suites = names(List::Suites);
    let legacy = [DEFAULT_IKEV1, "aes128-sha1-prfsha1-modp1024", "3des-md5-prfmd5-modp1024"];
    let legacy = legacy.map(|name| format!("{name:?}")).to_vec();
    assert!(legacy.iter().all(|name| all_suites.contains(name)));
    for (methods, suites) in [(of_v1, legacy), (of_v2, all_suites)] {
        let text = format!(
            "methods = [{}]\nnetworks = [{}]\nsuites = [{}]",
            methods.join(", "),
            names(List::Networks).join(", "),
            suites.join(", "),
        );
        let plan = parse("all", &text).unwrap();
        assert_eq!(plan.rows.len(), methods.len() * names(List::Networks).len() * suites.len());
    }
    let text = format!("methods = [{}]\nnetworks = 'wifi-11g'", others.join(", "));
    assert_eq!(parse("others", &text).unwrap().rows.len(), others.len());
    for topology in names(List::Topologies) {
        parse("topology", &format!("methods='ikev2-psk'\nnetworks='lte'\ntopologies = {topology}")).unwrap();
    }
    for cpu in names(List::Cpus) {
        parse("cpu", &format!("methods='ikev2-psk'\nnetworks='lte'\n[cpus]\nue = {cpu}")).unwrap();
    }
    for group in List::Groups.entries() {
        Suite::ike(&format!("aes128gcm16-prfsha256-{}", group.name)).unwrap();
    }
}

#[test]
fn every_entry_of_the_catalogue_has_a_source() {
    for list in List::ALL {
        for entry in list.entries() {
            assert!(!entry.source.is_empty() && !entry.summary.is_empty(), "{}: {}", list.name(), entry.name);
        }
    }
}

/// Multiples of a unit, most of which print short, and some nanoseconds.
fn durations(nanos_min: u64, nanos_max: u64) -> impl Strategy<Value = Duration> {
    (nanos_min..=nanos_max).prop_map(Duration::from_nanos)
}

fn chances() -> impl Strategy<Value = Probability> {
    (0..=1_000_000_000_u32).prop_map(Probability::from_parts_per_billion)
}

fn directions() -> impl Strategy<Value = Direction> {
    let times = (durations(0, 60_000_000_000), durations(0, 60_000_000_000));
    let sizes = (option::of(1_000..=10_000_000_000_000_u64), 1500..=1_000_000_000_000_u64);
    (times, sizes, impairments()).prop_map(
        |((delay, jitter), (rate_bits_per_s, queue_bytes_max), impairments)| Direction {
            delay,
            jitter,
            rate_bits_per_s,
            queue_bytes_max,
            impairments,
        },
    )
}

/// All impairments, including loss in bursts.
fn impairments() -> impl Strategy<Value = Impairments> {
    let bursts = prop::collection::vec(chances(), 4);
    (chances(), chances(), chances(), chances(), option::of(bursts)).prop_map(
        |(loss, reorder, duplicate, corrupt, bursts)| {
            let loss = match bursts.as_deref() {
                Some([p, r, h, k]) => {
                    format!("{{ p = \"{p}\", r = \"{r}\", 1-h = \"{h}\", 1-k = \"{k}\" }}")
                }
                _ => format!("\"{loss}\""),
            };
            let network = format!(
                "{{ name = \"x\", loss = {loss}, reorder = \"{reorder}\", duplicate = \"{duplicate}\", corrupt = \"{corrupt}\" }}"
            );
            let plan = parse("x", &format!("methods = \"ikev2-psk\"\nnetworks = {network}")).unwrap();
            plan.rows[0].network.up.impairments.clone()
        },
    )
}

#[test]
fn loss_in_bursts_is_read_for_each_direction_printed_and_told_in_words() {
    let text = "methods = 'ikev2-psk'\nnetworks = { name = 'mine', loss_down = { p = '2 %', r = '25 %' }, loss_up = '1 %' }";
    let plan = parse("bursts.toml", text).unwrap();
    let network = &plan.rows[0].network;
    let percent = |percent: u32| Probability::from_parts_per_billion(percent * 10_000_000);
    assert_eq!(network.down.impairments.get("loss"), [2, 25, 100, 0].map(percent));
    assert_eq!(network.up.impairments.get("loss"), [percent(1)]);
    let line = "loss_down = { p = \"2 %\", r = \"25 %\", 1-h = \"100 %\", 1-k = \"0 %\" }\nloss_up = \"1 %\"";
    assert!(plan.to_toml().contains(line), "{}", plan.to_toml());
    assert_eq!(parse("again", &plan.to_toml()).unwrap(), plan);
    let words = "loss in bursts, 2 % into them, 25 % out of them, 100 % inside;";
    assert!(networks::summary(network).contains(words), "{}", networks::summary(network));
}

#[test]
fn what_is_no_burst_is_refused_where_it_stands() {
    let said = |loss: &str| {
        let text = format!("methods = 'ikev2-psk'\nnetworks = {{ name = 'mine', {loss} }}");
        let error = parse("bursts.toml", &text).unwrap_err();
        assert_eq!(error.location().map(|place| place.1), Some(2), "{error}");
        error.to_string()
    };
    assert!(said("loss = { p = '2 %' }").contains("`loss` without `r`"));
    assert!(said("loss = { p = '2 %', r = '3 %', q = '1 %' }").contains("unknown key `q` in `loss`"));
    assert!(said("loss = { p = '2 %', r = '101 %' }").contains("must be from 0 % to 100 %"));
    assert!(said("corrupt = { p = '2 %', r = '3 %' }").contains("a probability"));
}

fn networks() -> impl Strategy<Value = Network> {
    // The others are those of presets.
    let basis =
        prop::sample::select(vec![Basis::Derived, Basis::Typical, Basis::Hypothetical, Basis::Custom]);
    let directions =
        directions().prop_flat_map(|down| (Just(down.clone()), prop_oneof![Just(down), directions()]));
    let air = prop::sample::select(vec![None, Air::named(AIRS[0].name), Air::named(AIRS[1].name)]);
    ("[^\\p{Cc}]{0,40}", directions, 1280..=u16::MAX, air, "[^\\p{Cc}]{0,60}", basis).prop_map(
        |(name, (mut down, mut up), mtu_bytes, air, source, basis)| {
            if air.is_some() {
                (down.rate_bits_per_s, up.rate_bits_per_s) = (None, None);
            }
            Network { name, down, up, mtu_bytes, air, source, basis }
        },
    )
}

fn tls() -> impl Strategy<Value = Tls> {
    let version = prop::sample::select(&TlsVersion::ALL[..]);
    let key = prop::sample::select(&Tls::KEYS[..]);
    (version, key, 256..=3500_u16, any::<bool>()).prop_map(|(version, key, fragment_bytes, resumption)| Tls {
        version,
        key,
        fragment_bytes,
        resumption,
    })
}

fn traffic() -> impl Strategy<Value = Traffic> {
    let kind = option::of(prop::sample::select(&TrafficKind::ALL[..]));
    let times = (durations(100_000_000, 3_600_000_000_000), durations(10_000, 60_000_000_000));
    let sizes = (option::of(128..=65_000_u16), 1_000..=10_000_000_000_u64, 4_096..=1_u32 << 30);
    let direction = prop::sample::select(&TrafficDirection::ALL[..]);
    (kind, times, sizes, direction, any::<bool>()).prop_map(
        |(
            kind,
            (duration, interval),
            (packet_bytes, rate_bits_per_s, window_bytes),
            direction,
            protected,
        )| {
            Traffic {
                kind,
                duration,
                packet_bytes,
                direction,
                rate_bits_per_s,
                interval,
                window_bytes,
                protected,
            }
        },
    )
}

/// Removes signatures that its keys cannot make.
fn signing(mut row: RowPlan) -> RowPlan {
    let kind = row.options.key_kind(row.method);
    let fits = |schemes: &[SignatureScheme]| kind.is_some_and(|kind| signatures::fit(schemes, kind).is_ok());
    row.options.ike.signatures = row.options.ike.signatures.filter(|schemes| fits(schemes));
    row
}

/// Removes impossible traffic: outside a missing SA, or endless.
fn flowing(mut row: RowPlan) -> RowPlan {
    let rates = [&row.network.up, &row.network.down].map(|way| way.rate_bits_per_s);
    let traffic = &mut row.options.traffic;
    if traffic.kind == Some(TrafficKind::Bulk) && rates.contains(&None) {
        traffic.kind = None;
    }
    traffic.protected &= !row.options.ike.childless;
    row.options = row.options.fitted_to(row.method);
    row
}

/// Limits with which every SA is rekeyed before it expires.
fn sa_limits() -> impl Strategy<Value = SaLimits> {
    let pair = || (option::of(10_000..1_u64 << 40), option::of(1_u64 << 40..1 << 50));
    (pair(), pair(), 32..=4096_u32).prop_map(|(bytes, packets, replay_window)| SaLimits {
        rekey_bytes: bytes.0,
        life_bytes: bytes.1,
        rekey_packets: packets.0,
        life_packets: packets.1,
        replay_window,
    })
}

/// One of three sets of options of HIP.
fn of_hip(mode: u8, unused_after_s: u32, first: Duration) -> hip::Options {
    let unused_after = Duration::from_secs(u64::from(unused_after_s).min(31_536_000));
    hip::Options {
        host_identity: [KeyKind::EcdsaP256, KeyKind::Ed25519, KeyKind::Rsa1024][usize::from(mode)],
        p256_hash: if mode == 0 { hip::P256Hash::Sha384 } else { hip::P256Hash::Sha256 },
        groups: hip::GROUPS[usize::from(mode)..].to_vec(),
        ciphers: hip::Cipher::ALL[usize::from(mode % 2)..].to_vec(),
        dex: hip::Dex::ALL[usize::from(mode % 2)],
        aka: hip::Aka::ALL[usize::from(mode % 2)],
        puzzle_bits: mode * 12,
        encrypt_host_id: mode == 1,
        rekey_with_new_keys: mode == 2,
        unused_after,
        move_after: (mode == 2).then_some(unused_after / 2),
        retransmission: hip::Retransmission { first, tries: mode },
    }
}

/// One of three sets of options of wireless LANs.
fn of_wlan(mode: u8, unused_after_s: u32, group_rekey: Option<Duration>) -> wlan::Options {
    let (at, seconds) = (usize::from(mode), u64::from(unused_after_s));
    wlan::Options {
        wep: wlan::Wep::ALL[at % 2],
        rrkm: wlan::Rrkm {
            period: Duration::from_secs(seconds.min(65_535)),
            hash: wlan::KeyHash::ALL[at],
            drift_ppm: (i32::from(mode) - 1) * 1000,
        },
        pairwise: wlan::Pairwise::ALL[at + 1],
        management: wlan::Protection::ALL[at],
        eap_server: wlan::EapServer::ALL[at % 2],
        quiet_period: Duration::from_secs(seconds % 3601),
        group_rekey,
        stays_idle: Duration::from_secs(seconds.min(31_536_000)),
        roam_after: (mode > 0).then_some(Duration::from_secs(seconds.min(31_536_000)) / 2),
        // A PSK has nothing to cache.
        roaming: wlan::Roaming::ALL[at & 2],
    }
}

fn options() -> impl Strategy<Value = Options> {
    let rekey = || option::of(durations(100_000_000, 31_536_000_000_000_000));
    let security = (
        1..=4_u8,
        1..=4_u8,
        any::<bool>(),
        option::of(576..=u16::MAX),
        prop::sample::select(&CookiePolicy::ALL[..]),
    );
    let life = (1..=u32::MAX, rekey(), rekey(), 1..=10_000_000_u32, sa_limits());
    let retransmission = (durations(1_000_000, 600_000_000_000), 1.0..=10.0_f64, 0..=100_u8)
        .prop_map(|(first, base, tries)| Retransmission { first, base, tries });
    let fault = option::of(prop::sample::select(&Fault::ALL[..]));
    let signatures = option::of(prop::sample::subsequence(SignatureScheme::NEGOTIABLE.to_vec(), 1..=2));
    (security, life, retransmission, 0..3_u8, any::<bool>(), (tls(), signatures), (fault, traffic()))
        .prop_map(
            |(
                (initiator, responder, childless, fragment_bytes, cookies),
                life,
                retransmission,
                mode,
                ipv6,
                (tls, signatures),
                (fault, traffic),
            )| {
                let ike = ike::Options {
                    reauth_lifetime: Duration::from_secs(life.0.into()),
                    signatures,
                    rsa_bits: ike::Options::RSA_KEYS[usize::from(mode)],
                    raw_keys: mode == 1,
                    pfs: mode == 2,
                    childless,
                    fragment_bytes,
                    cookies,
                    half_open_max: life.3,
                    rekey_after: life.1,
                    gateway_auth: GatewayAuth::ALL[usize::from(mode % 2)],
                    gateway_key: if mode == 2 { KeyKind::EcdsaP384 } else { KeyKind::Rsa2048 },
                    virtual_address: mode == 1,
                    retransmission,
                };
                let hip = of_hip(mode, life.0, retransmission.first);
                let wlan = of_wlan(mode, life.0, life.1);
                let mut options = Options { ike, hip, wlan, tls, ipv6, fault, traffic, ..Options::default() };
                options.certificates.chain = Chain { initiator, responder };
                options.ipsec.mode = if mode == 0 { Mode::Transport } else { Mode::Tunnel };
                (options.ipsec.rekey_after, options.ipsec.limits) = (life.2, life.4);
                (options.eap.asks_identity, options.eap.pseudonyms) = (mode == 2, mode == 2);
                (options.eap.vector_batch, options.eap.triplets) = (mode + 1, 2 + mode % 2);
                options.eap.fast_reauth = if mode == 2 { 16 } else { 0 };
                options.eap.accounting = mode == 1;
                let store = Spread::Lognormal(Duration::from_millis(1), Duration::from_millis(65));
                options.hss_store = (mode == 2).then_some(store);
                options
            },
        )
}

fn suites(parse: fn(&str) -> Suite, texts: &'static [&'static str]) -> impl Strategy<Value = Vec<Suite>> {
    prop::collection::vec(prop::sample::select(texts).prop_map(parse), 1..4)
}

fn row_plans() -> impl Strategy<Value = RowPlan> {
    let ike =
        suites(|text| Suite::ike(text).unwrap(), &["aes128gcm16-prfsha256-x25519", "3des-md5-modp1024"]);
    let esp = suites(|text| Suite::esp(text).unwrap(), &["aes128gcm16", "aes256-sha512-ecp384", "null-sha1"]);
    let method = prop::sample::select(Method::all().collect::<Vec<_>>());
    (method, "[^\\p{Cc}]{0,60}", networks(), ike, esp, options()).prop_map(
        |(method, variant, network, suites, esp_suites, options)| {
            let mut options = options.fitted_to(method);
            let mut suites = suites;
            if method.phase1().is_some() {
                let ike::Options { childless, cookies, fragment_bytes, rekey_after, virtual_address, .. } =
                    ike::Options::default();
                options.ike = ike::Options {
                    childless,
                    cookies,
                    fragment_bytes,
                    rekey_after,
                    virtual_address,
                    ..options.ike
                };
                suites.retain(|suite| !suite.encryption.is_aead());
                suites.push(Suite::ike("aes256-sha384-ecp384").unwrap());
            }
            // A childless SA offers no suite for a child.
            let usual = || vec![Suite::esp(DEFAULT_ESP).unwrap()];
            let esp_suites = if options.ike.childless { usual() } else { esp_suites };
            let is_of_hip = method.own::<hip::Exchange>().is_some();
            let esp_suites = if is_of_hip { usual() } else { esp_suites };
            let esp_suites = if method.has(&IPSEC) { esp_suites } else { Vec::new() };
            let suites = if method.suite.is_some() { suites } else { Vec::new() };
            let signs_itself = method.has_chain() && options.certificates.chain.responder == 1;
            let is_of_list = |fault| fault == Fault::RevokedCertificate;
            let can_have =
                |fault: &Fault| options.can_have(*fault, method) && !(signs_itself && is_of_list(*fault));
            options.fault = options.fault.filter(can_have);
            if method.own::<wlan::Admission>().is_some() {
                options.traffic.packet_bytes = options.traffic.packet_bytes.map(|bytes| bytes.min(1500));
            }
            let Options { eap, fault, .. } = &options;
            if method.has_card() || eap.accounting || fault.is_some() {
                options.wlan.eap_server = wlan::EapServer::Radius;
            }
            let topology = Topology::Raw;
            signing(flowing(RowPlan { method, variant, network, topology, suites, esp_suites, options }))
        },
    )
}

fn cpus() -> impl Strategy<Value = CpuProfile> {
    let costs = option::of("[^\\p{Cc}\\s][^\\p{Cc}]{0,40}");
    ("[^\\p{Cc}]{0,40}", option::of(1_000..=1_000_000_000_000_u64), 1..=1024_u16, costs)
        .prop_map(|(name, hz, cores, costs)| CpuProfile { name, hz: hz.map(|hz| hz as f64), cores, costs })
}

fn has_modp(row: &RowPlan) -> bool {
    row.groups().any(Group::is_modp)
}

fn plans() -> impl Strategy<Value = Plan> {
    let head = (
        ("[^\\p{Cc}\\s][^\\p{Cc}]{0,79}", option::of("[a-z0-9-]{1,20}")),
        any::<u64>(),
        1..=1_000_000_000_u32,
        durations(1_000_000, 604_800_000_000_000),
    );
    let crypto = (prop::sample::select(&CryptoMode::ALL[..]), "[^\\p{Cc}]{0,40}");
    let modes = (crypto, prop::sample::select(&Exponents::ALL[..]));
    let nodes = (cpus(), cpus(), cpus(), cpus(), cpus());
    (head, modes, nodes, prop::collection::vec(row_plans(), 1..4)).prop_map(
        |(
            ((title, study), seed, samples, interval),
            ((crypto, costs), exponents),
            (ue, gw, aaa, hss, ap),
            mut rows,
        )| {
            let noticed = |fault: &Fault| crypto.computes() || !fault.is_wrong_key();
            rows.iter_mut().for_each(|row| row.options.fault = row.options.fault.filter(noticed));
            // Options without effect on any row are refused.
            let asks = |node: &Node| rows.iter().any(|row| row.method.nodes.contains(node));
            let cpus = [(Node::Ue, ue), (Node::Gw, gw), (Node::Aaa, aaa), (Node::Hss, hss), (Node::Ap, ap)];
            let cpus = cpus.map(|(node, cpu)| (node, if asks(&node) { cpu } else { CpuProfile::default() }));
            let is_table = crypto == CryptoMode::Table;
            let costs_of = |cpu: &CpuProfile| cpu.costs.clone().filter(|_| is_table);
            let cpus = cpus.map(|(node, cpu)| (node, CpuProfile { costs: costs_of(&cpu), ..cpu }));
            let exponents = if rows.iter().any(has_modp) { exponents } else { Exponents::Short };
            Plan {
                title,
                study,
                seed,
                samples,
                interval,
                crypto,
                costs: (crypto == CryptoMode::Table).then_some(costs),
                exponents,
                world: WorldKind::Sim,
                cpus: cpus.into(),
                population: None,
                rows,
            }
        },
    )
}

proptest! {
    #[test]
    fn a_printed_plan_reads_back_as_itself(plan in plans()) {
        let text = plan.to_toml();
        let again = parse("printed.toml", &text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(again, plan);
    }

    #[test]
    fn any_text_resolves_or_is_refused(text in "([a-z]{1,8}( = |\\.)?(\"[^\"]{0,9}\"|[0-9.]{1,6}|\\[|\\]|\\{|\\})\n?){0,12}") {
        let _ = parse("any.toml", &text);
    }

    #[test]
    fn any_value_under_a_known_key_resolves_or_is_refused(
        key in "(title|study|seed|samples|interval|crypto|world|methods|networks|suites|options|sweep|cpus|population|row)(\\.(ue|chain|mode|suite|loss))?",
        value in "(\"[^\"\\\\\\p{Cc}]{0,9}\"|-?[0-9]{1,25}|[0-9]\\.[0-9]|true|\\[\\]|\\[1, \"a\"\\]|\\{\\}|\\{ name = 1 \\}|1979-05-27)",
    ) {
        let source = Source::builtin("quickstart").unwrap();
        let overrides = Overrides::parse(&[format!("{key}={value}")]);
        if let Err(error) = overrides.and_then(|overrides| source.plan(&overrides)) {
            prop_assert!(!error.to_string().is_empty());
            prop_assert!(error.location().is_some(), "{}", error);
        }
    }
}

/// A scenario with a population.
fn populated(more: &str) -> String {
    format!(
        "methods = [\"ikev2-psk\", \"ikev2-eap-aka\"]\nnetworks = \"lte\"\n[population]\ndevices = 50000\n{more}"
    )
}

#[test]
fn a_population_is_printed_as_it_is_read() {
    let full = "arrivals = ['ramp 0/s to 500/s in 60 s', 'poisson 500/s']
        mix = { ikev2-eap-aka = 3, ikev2-psk = 1 }
        stay = 'exponential 10 min'
        reauthenticate = '15 min'
        moves = 'uniform 1 min to 1 h'
        wrong = '0.5 %'
        devices_per_link = 50
        gateways = 12
        gateway_lost = '11 at 90 s'
        liveness = '20 s'
        aaa_store = '400 us'
        hss_store = 'lognormal 500 us p99 5 ms'
        duration = '1 h'";
    for text in [
        full,
        "arrivals = '20 at a time'",
        "arrivals = 'times storm.csv'",
        "arrivals = 'storm 50000 in 10 s'",
    ] {
        let plan = parse("population", &populated(text)).unwrap();
        assert_eq!(parse("again", &plan.to_toml()).unwrap(), plan);
    }
    let plan = parse("population", &populated(full)).unwrap();
    let population = plan.population.as_ref().unwrap();
    assert_eq!(population.mix.iter().map(|share| share.weight).collect::<Vec<_>>(), [3, 1]);
    assert_eq!(population.stay.unwrap().to_string(), "exponential 600 s");
    assert_eq!(plan.authentications(), 50_000);
    let rows = parse("rows", &populated("arrivals = '20 at a time'")).unwrap();
    assert_eq!(rows.authentications(), 100_000);
}

#[test]
fn methods_know_their_keys() {
    assert_eq!(Method::named("ikev2-rsa2048").unwrap().key_kind(), Some(KeyKind::Rsa2048));
    assert_eq!(Method::named("ikev2-psk").unwrap().key_kind(), None);
}

#[test]
fn rows_are_marked_by_their_worst_algorithm() {
    let text = "methods = ['ikev2-psk', 'ikev2-rsa1024']\nnetworks = 'lte'\n[sweep]\nesp_suite = ['aes128gcm16', 'null-md5']";
    let marks =
        parse("marks", text).unwrap().rows.iter().map(|row| row.standing().mark()).collect::<Vec<_>>();
    assert_eq!(marks, ["", "broken", "weak", "broken"]);
}

#[test]
fn traffic_is_read_with_its_units_and_names_its_rows() {
    let text = "
        methods = 'ikev2-psk'
        networks = 'lte'
        [options]
        traffic = 'constant'
        traffic_duration = '2.5 s'
        traffic_rate = '64 kbit/s'
        [sweep]
        ipsec = ['none', 'esp']
        traffic_packet = ['path', '200 B']
    ";
    let plan = parse("traffic.toml", text).unwrap();
    let shared = "traffic=constant traffic_duration=2.5s";
    assert_eq!(
        rows(&plan),
        [
            format!("ikev2-psk lte {shared} traffic_packet=path traffic_rate=64kbit/s ipsec=none"),
            format!("ikev2-psk lte {shared} traffic_packet=200B traffic_rate=64kbit/s ipsec=none"),
            format!("ikev2-psk lte {shared} traffic_packet=path traffic_rate=64kbit/s ipsec=esp"),
            format!("ikev2-psk lte {shared} traffic_packet=200B traffic_rate=64kbit/s ipsec=esp"),
        ]
    );
    let expected = Traffic {
        kind: Some(TrafficKind::Constant),
        duration: Duration::from_millis(2500),
        rate_bits_per_s: 64_000,
        packet_bytes: Some(200),
        protected: false,
        ..Traffic::default()
    };
    assert_eq!(plan.rows[1].options.traffic, expected);
}
