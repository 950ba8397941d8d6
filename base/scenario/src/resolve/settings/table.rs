//! The table of every key of `[options]`, and which of them mean something to which methods.

use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_crypto_api::suite::Suite;

use super::{
    Setting, chain, fault, fault_name, list, named_signatures, print_chain, print_rekey, quoted, rsa_bits,
    rsa_length, set,
};
use crate::catalogue::Method;
use crate::catalogue::eap::Proof;
use crate::catalogue::suites::DEFAULT_IKE;
use crate::plan::{CookiePolicy, GatewayAuth, Maker, Mode, Tls};
use crate::quantity;
use crate::resolve::values::{
    eap_fragment, esp_suites, fragmentation, ike_fit, rekey, suites, tls_version, wait, whole_seconds,
};
use crate::resolve::{sa_limits, traffic};

const BOOLEAN: &[&str] = &["true", "false"];

/// Every key, in the order it is printed.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting {
        key: SUITE,
        values: &["SUITE, …"],
        about: "suites offered for the IKE SA, in order of preference",
        read: |s, item| set(&mut s.ike_suites, suites(item, Suite::ike, ike_fit).map(Some)),
        print: |s| s.ike_suites.as_deref().map_or_else(|| format!("[\"{DEFAULT_IKE}\"]"), list),
    },
    Setting {
        key: ESP_SUITE,
        values: &["SUITE, …"],
        about: "suites offered for traffic, in order of preference",
        read: |s, item| set(&mut s.esp_suites, esp_suites(item)),
        print: |s| list(&s.esp_suites),
    },
    Setting {
        key: CHAIN,
        values: &["1 to 4", "[DEVICE, GATEWAY]"],
        about: "certificates that each side sends",
        read: |s, item| set(&mut s.options.chain, chain(item)),
        print: print_chain,
    },
    Setting {
        key: SIGNATURES,
        values: &["usual", "SIGNATURE, …"],
        about: "signatures of IKEv2, in order of preference",
        read: |s, item| set(&mut s.options.signatures, named_signatures(item)),
        print: |s| s.options.signatures.as_deref().map_or_else(|| quoted(USUAL), list),
    },
    Setting {
        key: RSA_BITS,
        values: &["1024", "2048", "3072", "4096"],
        about: "length of the RSA keys of IKEv1",
        read: |s, item| set(&mut s.options.rsa_bits, rsa_bits(item)),
        print: |s| rsa_length(s.options.rsa_bits).to_string(),
    },
    Setting {
        key: RAW_KEYS,
        values: BOOLEAN,
        about: "each side knows the other's public key beforehand, nobody sends a certificate",
        read: |s, item| set(&mut s.options.raw_keys, item.boolean()),
        print: |s| s.options.raw_keys.to_string(),
    },
    Setting {
        key: PFS,
        values: BOOLEAN,
        about: "quick mode agrees a key of its own",
        read: |s, item| set(&mut s.options.pfs, item.boolean()),
        print: |s| s.options.pfs.to_string(),
    },
    Setting {
        key: "mode",
        values: &["transport", "tunnel"],
        about: "what ESP protects",
        read: |s, item| set(&mut s.options.mode, item.pick("mode", &Mode::ALL, Mode::name)),
        print: |s| quoted(s.options.mode.name()),
    },
    Setting {
        key: "childless",
        values: BOOLEAN,
        about: "an IKE SA without a child (RFC 6023)",
        read: |s, item| set(&mut s.options.childless, item.boolean()),
        print: |s| s.options.childless.to_string(),
    },
    Setting {
        key: "fragmentation",
        values: &["true", "false", "576 B to 65535 B"],
        about: "longest IP packet with an IKE fragment (RFC 7383)",
        read: |s, item| set(&mut s.options.fragment_bytes, fragmentation(item)),
        print: |s| {
            s.options.fragment_bytes.map_or("false".into(), |bytes| quoted(&quantity::size(bytes.into())))
        },
    },
    Setting {
        key: "cookies",
        values: &["auto", "always", "never"],
        about: "when the gateway asks for a cookie",
        read: |s, item| {
            set(&mut s.options.cookies, item.pick("cookie policy", &CookiePolicy::ALL, CookiePolicy::name))
        },
        print: |s| quoted(s.options.cookies.name()),
    },
    Setting {
        key: "half_open_max",
        values: &["1 to 10000000"],
        about: "half-open IKE SAs that the gateway keeps",
        read: |s, item| set(&mut s.options.half_open_max, item.integer(1..=10_000_000).map(|max| max as u32)),
        print: |s| s.options.half_open_max.to_string(),
    },
    Setting {
        key: "reauth_lifetime",
        values: &["1 s to 4294967295 s"],
        about: "how long an authentication counts, in whole seconds (RFC 4478)",
        read: |s, item| set(&mut s.options.reauth_lifetime, whole_seconds(item)),
        print: |s| quoted(&quantity::duration(s.options.reauth_lifetime)),
    },
    Setting {
        key: "rekey_ike",
        values: &["never", "100 ms to 31536000 s"],
        about: "when the IKE SA is given new keys",
        read: |s, item| set(&mut s.options.rekey_ike, rekey(item)),
        print: |s| print_rekey(s.options.rekey_ike),
    },
    Setting {
        key: "rekey_child",
        values: &["never", "100 ms to 31536000 s"],
        about: "when the SA for traffic is given new keys",
        read: |s, item| set(&mut s.options.rekey_child, rekey(item)),
        print: |s| print_rekey(s.options.rekey_child),
    },
    Setting {
        key: sa_limits::REKEY_BYTES,
        values: &["never", "10 kB to 1000000000000 MB"],
        about: "an SA for traffic is given new keys after so much",
        read: |s, item| set(&mut s.options.sa_limits.rekey_bytes, sa_limits::bytes(item)),
        print: |s| sa_limits::print_bytes(s.options.sa_limits.rekey_bytes),
    },
    Setting {
        key: sa_limits::REKEY_PACKETS,
        values: &["never", "1 to 1000000000000000000"],
        about: "the same, counted in packets",
        read: |s, item| set(&mut s.options.sa_limits.rekey_packets, sa_limits::packets(item)),
        print: |s| sa_limits::print_packets(s.options.sa_limits.rekey_packets),
    },
    Setting {
        key: sa_limits::LIFE_BYTES,
        values: &["never", "10 kB to 1000000000000 MB"],
        about: "nothing passes an SA for traffic after so much",
        read: |s, item| set(&mut s.options.sa_limits.life_bytes, sa_limits::bytes(item)),
        print: |s| sa_limits::print_bytes(s.options.sa_limits.life_bytes),
    },
    Setting {
        key: sa_limits::LIFE_PACKETS,
        values: &["never", "1 to 1000000000000000000"],
        about: "the same, counted in packets",
        read: |s, item| set(&mut s.options.sa_limits.life_packets, sa_limits::packets(item)),
        print: |s| sa_limits::print_packets(s.options.sa_limits.life_packets),
    },
    Setting {
        key: sa_limits::REPLAY_WINDOW,
        values: &["32 to 4096"],
        about: "packets of the anti-replay window",
        read: |s, item| set(&mut s.options.sa_limits.replay_window, sa_limits::window(item)),
        print: |s| s.options.sa_limits.replay_window.to_string(),
    },
    Setting {
        key: EAP_IDENTITY,
        values: BOOLEAN,
        about: "the gateway asks for the EAP identity over the air",
        read: |s, item| set(&mut s.options.eap_identity, item.boolean()),
        print: |s| s.options.eap_identity.to_string(),
    },
    Setting {
        key: GATEWAY_AUTH,
        values: &["certificate", "psk", "eap-only"],
        about: "how the gateway proves itself to a device that uses EAP",
        read: |s, item| {
            let named = item.pick("way to prove itself", &GatewayAuth::ALL, GatewayAuth::name);
            set(&mut s.options.gateway_auth, named)
        },
        print: |s| quoted(s.options.gateway_auth.name()),
    },
    Setting {
        key: GATEWAY_KEY,
        values: &[
            "rsa1024",
            "rsa2048",
            "rsa3072",
            "rsa4096",
            "ecdsa-p256",
            "ecdsa-p384",
            "ecdsa-p521",
            "ed25519",
        ],
        about: "kind of key in the gateway's certificate",
        read: |s, item| {
            set(&mut s.options.gateway_key, item.pick("kind of key", &Method::SIGNATURE_KEYS, KeyKind::name))
        },
        print: |s| quoted(s.options.gateway_key.name()),
    },
    Setting {
        key: CRLS,
        values: BOOLEAN,
        about: "whoever is shown a certificate asks revocation lists",
        read: |s, item| set(&mut s.options.crls, item.boolean()),
        print: |s| s.options.crls.to_string(),
    },
    Setting {
        key: VECTOR_BATCH,
        values: &["1 to 10"],
        about: "authentications for which vectors are asked of the HSS at a time",
        // Three triplets an authentication, and at most 32 vectors an answer.
        read: |s, item| set(&mut s.options.vector_batch, item.integer(1..=10).map(|count| count as u8)),
        print: |s| s.options.vector_batch.to_string(),
    },
    Setting {
        key: TRIPLETS,
        values: &["2 to 3"],
        about: "GSM challenges of EAP-SIM",
        read: |s, item| set(&mut s.options.triplets, item.integer(2..=3).map(|count| count as u8)),
        print: |s| s.options.triplets.to_string(),
    },
    Setting {
        key: PSEUDONYMS,
        values: BOOLEAN,
        about: "the AAA server gives out pseudonyms",
        read: |s, item| set(&mut s.options.pseudonyms, item.boolean()),
        print: |s| s.options.pseudonyms.to_string(),
    },
    Setting {
        key: FAST_REAUTH,
        values: &["0 to 65535"],
        about: "fast re-authentications after a full authentication",
        read: |s, item| set(&mut s.options.fast_reauth, item.integer(0..=65_535).map(|count| count as u16)),
        print: |s| s.options.fast_reauth.to_string(),
    },
    Setting {
        key: ACCOUNTING,
        values: BOOLEAN,
        about: "the gateway tells the AAA server when sessions begin and end (RFC 2866)",
        read: |s, item| set(&mut s.options.accounting, item.boolean()),
        print: |s| s.options.accounting.to_string(),
    },
    Setting {
        key: TLS,
        values: &["1.2", "1.3"],
        about: "version of TLS inside EAP",
        read: |s, item| set(&mut s.options.tls.version, tls_version(item)),
        print: |s| quoted(s.options.tls.version.name()),
    },
    Setting {
        key: TLS_KEY,
        values: &["rsa2048", "rsa3072", "ecdsa-p256"],
        about: "kind of key in the certificates of TLS",
        read: |s, item| set(&mut s.options.tls.key, item.pick("kind of key", &Tls::KEYS, KeyKind::name)),
        print: |s| quoted(s.options.tls.key.name()),
    },
    Setting {
        key: EAP_FRAGMENT,
        values: &["256 B to 3500 B"],
        about: "longest EAP packet with a fragment of TLS",
        read: |s, item| set(&mut s.options.tls.fragment_bytes, eap_fragment(item)),
        print: |s| quoted(&quantity::size(s.options.tls.fragment_bytes.into())),
    },
    Setting {
        key: RESUMPTION,
        values: BOOLEAN,
        about: "sessions of TLS are resumed",
        read: |s, item| set(&mut s.options.tls.resumption, item.boolean()),
        print: |s| s.options.tls.resumption.to_string(),
    },
    Setting {
        key: "virtual_address",
        values: BOOLEAN,
        about: "the device asks for an address inside",
        read: |s, item| set(&mut s.options.virtual_address, item.boolean()),
        print: |s| s.options.virtual_address.to_string(),
    },
    Setting {
        key: "retransmit_first",
        values: &["1 ms to 600 s"],
        about: "wait before a request is repeated for the first time",
        read: |s, item| set(&mut s.options.retransmission.first, wait(item)),
        print: |s| quoted(&quantity::duration(s.options.retransmission.first)),
    },
    Setting {
        key: "retransmit_base",
        values: &["1.0 to 10.0"],
        about: "each further wait is so many times the one before",
        read: |s, item| set(&mut s.options.retransmission.base, item.number(&(1.0..=10.0))),
        print: |s| format!("{:?}", s.options.retransmission.base),
    },
    Setting {
        key: "retransmit_tries",
        values: &["0 to 100"],
        about: "how often a request is repeated",
        read: |s, item| set(&mut s.options.retransmission.tries, item.integer(0..=100).map(|n| n as u8)),
        print: |s| s.options.retransmission.tries.to_string(),
    },
    Setting {
        key: "ipv6",
        values: BOOLEAN,
        about: "the packets between device and gateway are IPv6",
        read: |s, item| set(&mut s.options.ipv6, item.boolean()),
        print: |s| s.options.ipv6.to_string(),
    },
    Setting {
        key: UE,
        values: &["keytoll", "strongswan"],
        about: "whose program the device is",
        read: |s, item| set(&mut s.options.makers.ue, item.pick("program", &Maker::OF_IKE, Maker::name)),
        print: |s| quoted(s.options.makers.ue.name()),
    },
    Setting {
        key: GW,
        values: &["keytoll", "strongswan"],
        about: "whose program the gateway is",
        read: |s, item| set(&mut s.options.makers.gw, item.pick("program", &Maker::OF_IKE, Maker::name)),
        print: |s| quoted(s.options.makers.gw.name()),
    },
    Setting {
        key: AAA,
        values: &["keytoll", "freeradius", "hostapd"],
        about: "whose program the AAA server is",
        read: |s, item| set(&mut s.options.makers.aaa, item.pick("program", &Maker::OF_AAA, Maker::name)),
        print: |s| quoted(s.options.makers.aaa.name()),
    },
    Setting {
        key: FAULT,
        values: &["none", "FAULT"],
        about: "what is wrong on purpose",
        read: |s, item| set(&mut s.options.fault, fault(item)),
        print: |s| quoted(fault_name(s.options.fault)),
    },
    Setting {
        key: "traffic",
        values: &["none", "icmp", "constant", "bulk"],
        about: "what users send once the SAs are there",
        read: |s, item| set(&mut s.options.traffic.kind, traffic::kind(item)),
        print: |s| quoted(traffic::kind_name(s.options.traffic.kind)),
    },
    Setting {
        key: "traffic_duration",
        values: &["100 ms to 3600 s"],
        about: "for how long they send it",
        read: |s, item| set(&mut s.options.traffic.duration, traffic::duration(item)),
        print: |s| quoted(&quantity::duration(s.options.traffic.duration)),
    },
    Setting {
        key: "traffic_packet",
        values: &["path", "64 B to 65000 B"],
        about: "length of its IP packets; `path`: the longest that go unfragmented",
        read: |s, item| set(&mut s.options.traffic.packet_bytes, traffic::packet(item)),
        print: |s| quoted(&traffic::print_packet(s.options.traffic.packet_bytes)),
    },
    Setting {
        key: "traffic_direction",
        values: &["up", "down", "both"],
        about: "which way it goes",
        read: |s, item| set(&mut s.options.traffic.direction, traffic::direction(item)),
        print: |s| quoted(s.options.traffic.direction.name()),
    },
    Setting {
        key: "traffic_rate",
        values: &["1 kbit/s to 10 Gbit/s"],
        about: "how much of it there is",
        read: |s, item| set(&mut s.options.traffic.rate_bits_per_s, traffic::rate(item)),
        print: |s| quoted(&quantity::rate(s.options.traffic.rate_bits_per_s)),
    },
    Setting {
        key: "traffic_interval",
        values: &["10 us to 60 s"],
        about: "from one echo request to the next",
        read: |s, item| set(&mut s.options.traffic.interval, traffic::interval(item)),
        print: |s| quoted(&quantity::duration(s.options.traffic.interval)),
    },
    Setting {
        key: "traffic_window",
        values: &["4096 B to 1073741824 B"],
        about: "window of its TCP connection",
        read: |s, item| set(&mut s.options.traffic.window_bytes, traffic::window(item)),
        print: |s| quoted(&quantity::size(s.options.traffic.window_bytes.into())),
    },
    Setting {
        key: "ipsec",
        values: &["esp", "none"],
        about: "through IPsec or past it",
        read: |s, item| set(&mut s.options.traffic.protected, traffic::ipsec(item)),
        print: |s| quoted(traffic::ipsec_name(s.options.traffic.protected)),
    },
];

/// These mean something else, or nothing, to IKEv1.
pub(super) const SUITE: &str = "suite";
pub(super) const ESP_SUITE: &str = "esp_suite";
/// Means nothing to IKEv1, and to methods without signatures.
pub(super) const SIGNATURES: &str = "signatures";
/// What fits the key.
pub(super) const USUAL: &str = "usual";
/// These mean nothing to IKEv2, some to few methods of IKEv1.
pub(super) const RSA_BITS: &str = "rsa_bits";
pub(super) const RAW_KEYS: &str = "raw_keys";
pub(super) const PFS: &str = "pfs";
/// These mean nothing to methods without certificates.
pub(super) const CHAIN: &str = "chain";
pub(super) const CRLS: &str = "crls";
/// These mean nothing to methods without EAP, some to few of those with it.
pub(super) const EAP_IDENTITY: &str = "eap_identity";
pub(super) const GATEWAY_AUTH: &str = "gateway_auth";
/// Of the gateway's certificate.
pub(super) const GATEWAY_KEY: &str = "certificate";
pub(super) const VECTOR_BATCH: &str = "vector_batch";
pub(super) const TRIPLETS: &str = "triplets";
pub(super) const PSEUDONYMS: &str = "pseudonyms";
pub(super) const FAST_REAUTH: &str = "fast_reauth";
pub(super) const ACCOUNTING: &str = "accounting";
pub(super) const AAA: &str = "aaa";
/// These mean nothing to methods without TLS.
pub(super) const TLS: &str = "tls";
pub(super) const TLS_KEY: &str = "tls_key";
pub(super) const EAP_FRAGMENT: &str = "eap_fragment";
pub(super) const RESUMPTION: &str = "resumption";

/// Whether a setting makes a difference to a method, or is refused with it.
pub(crate) fn tells(key: &str, method: Method) -> bool {
    match key {
        RSA_BITS | RAW_KEYS => matches!(method, Method::Ikev1Rsa(_)),
        PFS => method.phase1().is_some(),
        CHAIN => method.has_chain(),
        SIGNATURES => method.phase1().is_none() && method.key_kind().is_some(),
        CRLS => method.key_kind().is_some(),
        VECTOR_BATCH | PSEUDONYMS | FAST_REAUTH => method.has_card(),
        TRIPLETS => method.eap().is_some_and(|eap| eap.proof == Proof::Sim),
        EAP_IDENTITY | GATEWAY_AUTH | GATEWAY_KEY | ACCOUNTING | AAA => method.eap().is_some(),
        TLS | TLS_KEY | EAP_FRAGMENT | RESUMPTION => method.has_tls(),
        _ => true,
    }
}

/// Whose programs the other nodes are.
pub(super) const UE: &str = "ue";
pub(super) const GW: &str = "gw";

/// The setting that some methods cannot have.
pub(super) const FAULT: &str = "fault";

/// What it is called that nothing is wrong.
pub(super) const NO_FAULT: &str = "none";
