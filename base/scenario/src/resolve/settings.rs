//! `[options]` and `[sweep]`: what a row can vary. One line in [`SETTINGS`] adds a key to both, to the variant's name and
//! to the printed plan.

use std::time::Duration;

use keytoll_engine::algorithm::{KeyKind, SignatureScheme};
use keytoll_engine::suite::Suite;

use crate::catalogue::signatures::fit;
use crate::catalogue::suites::{DEFAULT_ESP, DEFAULT_IKE, DEFAULT_IKEV1};
use crate::catalogue::{EapKind, Fault, Method};
use crate::diagnostic::ScenarioError;
use crate::plan::{Chain, CookiePolicy, GatewayAuth, Maker, Mode, Network, Options, Tls};
use crate::quantity;
use crate::resolve::values::{
    NEVER, eap_fragment, esp_suites, fragmentation, ike_fit, rekey, signatures, suites, tls_version, wait,
    whole_seconds,
};
use crate::resolve::{ikev1, makers, sa_limits, traffic};
use crate::tree::{Item, Table, Value};

/// Options and suites of a row while it is being resolved.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    pub(crate) options: Options,
    /// None: what is usual for the method.
    pub(crate) ike_suites: Option<Vec<Suite>>,
    pub(crate) esp_suites: Vec<Suite>,
}

/// A key of `[options]`: what it is, how it is read, and printed.
pub(crate) struct Setting {
    pub(crate) key: &'static str,
    /// What it may be: words as they are written, ranges with ` to `, and forms in capitals. A test holds them against `read`.
    pub(crate) values: &'static [&'static str],
    /// In a few words.
    pub(crate) about: &'static str,
    read: fn(&mut Settings, &Item) -> Result<(), ScenarioError>,
    /// As a TOML value.
    pub(crate) print: fn(&Settings) -> String,
}

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
const SUITE: &str = "suite";
const ESP_SUITE: &str = "esp_suite";
/// Means nothing to IKEv1, and to methods without signatures.
const SIGNATURES: &str = "signatures";
/// What fits the key.
const USUAL: &str = "usual";
/// These mean nothing to IKEv2, some to few methods of IKEv1.
const RSA_BITS: &str = "rsa_bits";
const RAW_KEYS: &str = "raw_keys";
const PFS: &str = "pfs";
/// These mean nothing to methods without certificates.
const CHAIN: &str = "chain";
const CRLS: &str = "crls";
/// These mean nothing to methods without EAP, some to few of those with it.
const EAP_IDENTITY: &str = "eap_identity";
const GATEWAY_AUTH: &str = "gateway_auth";
/// Of the gateway's certificate.
const GATEWAY_KEY: &str = "certificate";
const VECTOR_BATCH: &str = "vector_batch";
const TRIPLETS: &str = "triplets";
const PSEUDONYMS: &str = "pseudonyms";
const FAST_REAUTH: &str = "fast_reauth";
const ACCOUNTING: &str = "accounting";
const AAA: &str = "aaa";
/// These mean nothing to methods without TLS.
const TLS: &str = "tls";
const TLS_KEY: &str = "tls_key";
const EAP_FRAGMENT: &str = "eap_fragment";
const RESUMPTION: &str = "resumption";

/// Whether a setting makes a difference to a method, or is refused with it.
pub(crate) fn tells(key: &str, method: Method) -> bool {
    match key {
        RSA_BITS | RAW_KEYS => matches!(method, Method::Ikev1Rsa(_)),
        PFS => method.phase1().is_some(),
        CHAIN => method.has_chain(),
        SIGNATURES => method.phase1().is_none() && method.key_kind().is_some(),
        CRLS => method.key_kind().is_some(),
        VECTOR_BATCH | PSEUDONYMS | FAST_REAUTH => method.has_card(),
        TRIPLETS => method.eap() == Some(EapKind::Sim),
        EAP_IDENTITY | GATEWAY_AUTH | GATEWAY_KEY | ACCOUNTING | AAA => method.eap().is_some(),
        TLS | TLS_KEY | EAP_FRAGMENT | RESUMPTION => method.has_tls(),
        _ => true,
    }
}

/// Whose programs the other nodes are.
const UE: &str = "ue";
const GW: &str = "gw";

/// The setting that some methods cannot have.
const FAULT: &str = "fault";

/// What it is called that nothing is wrong.
const NO_FAULT: &str = "none";

impl Default for Settings {
    fn default() -> Self {
        let esp = Suite::esp(DEFAULT_ESP).expect("a test parses the default suite");
        Self { options: Options::default(), ike_suites: None, esp_suites: vec![esp] }
    }
}

impl Settings {
    /// With the values of an `[options]` table.
    pub(crate) fn changed_by(mut self, item: Option<&Item>) -> Result<Self, ScenarioError> {
        let Some(item) = item else {
            return Ok(self);
        };
        let table = item.table()?;
        table.only("`options`", &keys())?;
        for entry in &table.entries {
            self.change(&entry.key, &entry.item)?;
        }
        Ok(self)
    }

    fn change(&mut self, key: &str, item: &Item) -> Result<(), ScenarioError> {
        let setting = SETTINGS.iter().find(|setting| setting.key == key);
        setting.map_or(Ok(()), |setting| (setting.read)(self, item))
    }

    /// Without what means nothing to the method.
    pub(super) fn fitted_to(mut self, method: Method) -> Self {
        self.options = self.options.fitted_to(method);
        self
    }

    /// The suites of the IKE SA, the usual one if nobody asked for others.
    pub(super) fn ike_suites(&self, method: Method) -> Vec<Suite> {
        let usual = if method.phase1().is_some() { DEFAULT_IKEV1 } else { DEFAULT_IKE };
        let usual = || vec![Suite::ike(usual).expect("a test parses the default suites")];
        self.ike_suites.clone().unwrap_or_else(usual)
    }

    /// Refuses what does not go together.
    pub(super) fn check(
        &self,
        method: Method,
        blame: &Item,
        (network_item, network): (&Item, &Network),
    ) -> Result<(), ScenarioError> {
        self.check_fault(method, blame)?;
        // RFC 8200 §5: every IPv6 link has an MTU of at least 1280 bytes.
        if self.options.ipv6 && network.mtu_bytes < 1280 {
            let message = format!("an MTU of {} bytes is too small for IPv6", network.mtu_bytes);
            let hint = "an `mtu` of at least 1280, or `ipv6 = false` in `[options]`";
            return Err(network_item.spot.error(message, "this network").hint(hint));
        }
        if self.options.virtual_address && self.options.mode == Mode::Transport {
            let message = "a virtual address needs tunnel mode";
            return Err(blame.spot.error(message, "`virtual_address` with `mode = \"transport\"`"));
        }
        self.options.sa_limits.check(|key| Some(value_of(blame, key)))?;
        self.check_identities(blame)?;
        self.check_signatures(method, blame)?;
        self.check_gateway_auth(method, blame)?;
        self.check_certificates(method, blame)?;
        if method.phase1().is_some() {
            ikev1::check(self, method, blame)?;
        }
        traffic::check(&self.options, blame, (network_item, network))?;
        makers::check(&self.options, method, blame)
    }

    /// What the card is called by next must be what the AAA server hears.
    fn check_identities(&self, blame: &Item) -> Result<(), ScenarioError> {
        if self.options.eap_identity || !(self.options.pseudonyms || self.options.fast_reauth > 0) {
            return Ok(());
        }
        let message = "a pseudonym or a fast re-authentication begins with an identity of its own";
        let hint = "`eap_identity = true`: what IKE passes on is the permanent one";
        Err(blame.spot.error(message, "`pseudonyms` or `fast_reauth` without `eap_identity`").hint(hint))
    }

    /// The keys of a row are of one kind.
    fn check_signatures(&self, method: Method, blame: &Item) -> Result<(), ScenarioError> {
        let options = &self.options;
        let signs = method.phase1().is_none() && options.has_ike_signatures(method);
        let kind = options.key_kind(method).filter(|_| signs);
        let (Some(schemes), Some(kind)) = (&options.signatures, kind) else { return Ok(()) };
        fit(schemes, kind).map_err(|unfit| {
            let label = format!("with `{}`", method.name());
            value_of(blame, SIGNATURES).spot.error(unfit.message, label).hint(unfit.hint)
        })
    }

    /// RFC 5998 §4: with EAP alone the method has to make a key, prove both sides and withstand who tries passwords.
    fn check_gateway_auth(&self, method: Method, blame: &Item) -> Result<(), ScenarioError> {
        let message = match method.eap() {
            Some(EapKind::Md5) => "EAP-MD5 makes no key by which the gateway could prove itself",
            Some(EapKind::MschapV2) => {
                "EAP-MSCHAPv2 tells a gateway that proved nothing enough to try passwords"
            }
            _ => return Ok(()),
        };
        if self.options.gateway_auth != GatewayAuth::EapOnly {
            return Ok(());
        }
        let label = format!("`gateway_auth = \"eap-only\"` with `{}`", method.name());
        let hint = "`gateway_auth = \"certificate\"` or `\"psk\"`";
        Err(blame.spot.error(message, label).hint(hint))
    }

    /// What is said of certificates must be of some that are shown.
    fn check_certificates(&self, method: Method, blame: &Item) -> Result<(), ScenarioError> {
        let Options { gateway_key, crls, fault, chain, .. } = self.options;
        let refuse = |key: &str, why: &str, hint: &'static str| {
            let message = format!("`{key}` means nothing to `{}` {why}", method.name());
            Err(value_of(blame, key).spot.error(message, "this value").hint(hint))
        };
        let of_gateway = gateway_key != Options::default().gateway_key;
        if of_gateway && !self.options.has_ike_signatures(method) {
            let way = self.options.gateway_auth.name();
            let why = format!("with `gateway_auth = \"{way}\"`");
            return refuse(GATEWAY_KEY, &why, "`gateway_auth = \"certificate\"`, or leave it out");
        }
        if crls && !self.options.shows_certificates(method) {
            return refuse(CRLS, "here: nobody shows a certificate", "leave it out");
        }
        // RFC 5280 §6.3: lists are of issuers, and who trusts a certificate as itself asks none.
        if fault == Some(Fault::RevokedCertificate) && method.has_chain() && chain.responder == 1 {
            return refuse(FAULT, "with a certificate that signs itself", "`chain` of 2 or more");
        }
        Ok(())
    }

    /// A fault must be one of the method's.
    fn check_fault(&self, method: Method, blame: &Item) -> Result<(), ScenarioError> {
        let Some(fault) = self.options.fault.filter(|&fault| !self.options.can_have(fault, method)) else {
            return Ok(());
        };
        let (without, needs) = if fault.concerns(method) {
            let way = self.options.gateway_auth.name();
            (format!(" with `gateway_auth = \"{way}\"`"), "nobody shows a certificate then".to_owned())
        } else {
            (String::new(), format!("it needs a method with {}", fault.wants()))
        };
        let message = format!("`fault = \"{}\"` means nothing to `{}`{without}", fault.name(), method.name());
        Err(value_of(blame, FAULT).spot.error(message, "this fault").hint(needs))
    }

    /// What differs from the default, and what was swept: `chain=4,4 suite=…`.
    pub(super) fn variant(&self, swept: &[&str]) -> String {
        let default = Self::default();
        let named = SETTINGS.iter().filter(|setting| {
            swept.contains(&setting.key) || (setting.print)(self) != (setting.print)(&default)
        });
        let words = named.map(|setting| format!("{}={}", setting.key, plain((setting.print)(self))));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// The value of a key if the item is a table that has it, else the item itself.
pub(super) fn value_of<'a>(item: &'a Item, key: &str) -> &'a Item {
    item.table().ok().and_then(|table| table.get(key)).unwrap_or(item)
}

/// A TOML value without its punctuation: `["a", "b"]` is `a,b`.
fn plain(mut toml: String) -> String {
    toml.retain(|c| !"[]\" ".contains(c));
    toml
}

fn keys() -> Vec<&'static str> {
    SETTINGS.iter().map(|setting| setting.key).collect()
}

/// One combination of a sweep.
pub(super) struct Variation<'a> {
    pub(super) settings: Settings,
    /// What to show if the combination is refused.
    pub(super) blame: Option<&'a Item>,
    swept: Vec<&'static str>,
}

impl Variation<'_> {
    /// The keys to name in the variant.
    pub(super) fn swept_for(&self, method: Method) -> Vec<&'static str> {
        self.swept.iter().copied().filter(|key| tells(key, method)).collect()
    }
}

/// Every combination of the values in `suites` and `[sweep]`, the last key varying fastest.
pub(super) fn variations<'a>(
    document: &'a Table,
    base: &Settings,
) -> Result<Vec<Variation<'a>>, ScenarioError> {
    let blame = document.get("options");
    let mut variations = vec![Variation { settings: base.clone(), blame, swept: Vec::new() }];
    if let Some(item) = document.get("suites") {
        variations = vary(&variations, "suite", item)?;
    }
    let Some(sweep) = document.get("sweep") else {
        return Ok(variations);
    };
    let sweep = sweep.table()?;
    sweep.only("`sweep`", &keys())?;
    for entry in &sweep.entries {
        let setting = SETTINGS.iter().find(|setting| setting.key == entry.key);
        let key = setting.map(|setting| setting.key).expect("the keys were just checked");
        let Value::List(_) = &entry.item.value else {
            return Err(entry.item.wrong("a list of values to try"));
        };
        variations = vary(&variations, key, &entry.item)?;
        super::limit(document, variations.len())?;
    }
    Ok(variations)
}

/// Multiplies the combinations with the values of one more key.
fn vary<'a>(
    variations: &[Variation<'a>],
    key: &'static str,
    values: &'a Item,
) -> Result<Vec<Variation<'a>>, ScenarioError> {
    let mut product = Vec::new();
    for variation in variations {
        for value in values.some_elements("value")? {
            let mut settings = variation.settings.clone();
            settings.change(key, value)?;
            let swept = variation.swept.iter().copied().chain([key]).collect();
            product.push(Variation { settings, blame: Some(value), swept });
        }
    }
    Ok(product)
}

/// `4` for both, or `[2, 4]` for device and gateway. Paper 000 has chains of two and four; longer ones are not made.
fn chain(item: &Item) -> Result<Chain, ScenarioError> {
    let length = |item: &Item| item.integer(1..=4).map(|length| length as u8);
    match item.elements() {
        [both] => Ok(Chain { initiator: length(both)?, responder: length(both)? }),
        [initiator, responder] => Ok(Chain { initiator: length(initiator)?, responder: length(responder)? }),
        _ => Err(item
            .spot
            .error("expected one or two chain lengths", "one for both, or the device's and the gateway's")),
    }
}

fn print_chain(settings: &Settings) -> String {
    let Chain { initiator, responder } = settings.options.chain;
    format!("[{initiator}, {responder}]")
}

fn print_rekey(after: Option<Duration>) -> String {
    after.map_or_else(|| quoted(NEVER), |after| quoted(&quantity::duration(after)))
}

/// `"usual"`, or schemes in order of preference.
fn named_signatures(item: &Item) -> Result<Option<Vec<SignatureScheme>>, ScenarioError> {
    if matches!(&item.value, Value::Text(word) if word == USUAL) {
        return Ok(None);
    }
    signatures(item).map(Some)
}

/// A length of RSA keys that is in the catalogue.
fn rsa_bits(item: &Item) -> Result<KeyKind, ScenarioError> {
    let bits = item.integer(1..=65_536)?;
    let named = Options::RSA_KEYS.into_iter().find(|kind| rsa_length(*kind) as u64 == bits);
    named.ok_or_else(|| item.spot.error("no such length of RSA keys", "one of 1024, 2048, 3072 and 4096"))
}

fn rsa_length(kind: KeyKind) -> usize {
    kind.rsa_bits().expect("only RSA keys can be set")
}

/// `"none"`, or one of the catalogue.
fn fault(item: &Item) -> Result<Option<Fault>, ScenarioError> {
    let all = std::iter::once(None).chain(Fault::ALL.map(Some)).collect::<Vec<_>>();
    item.pick("fault", &all, fault_name)
}

fn fault_name(fault: Option<Fault>) -> &'static str {
    fault.map_or(NO_FAULT, Fault::name)
}

fn set<T>(slot: &mut T, value: Result<T, ScenarioError>) -> Result<(), ScenarioError> {
    *slot = value?;
    Ok(())
}

/// Suites or signature schemes as a TOML list.
fn list(suites: &[impl ToString]) -> String {
    let quoted = suites.iter().map(|suite| quoted(&suite.to_string())).collect::<Vec<_>>();
    format!("[{}]", quoted.join(", "))
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}
