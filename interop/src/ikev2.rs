//! What IKEv2 can do besides EAP, tried between keytoll and strongSwan in both directions: the second table of
//! `RESULTS.md`. [`ike_rows!`](crate::ike_rows) is the one list of it; the tests and the table follow. Read RFC 7296 §1.2 to
//! §1.4, §2.4, §2.6, §2.8, §2.23, RFC 3948, RFC 6023 and RFC 7383 first.

use std::fmt;

use crate::chain::Outcome;
use crate::lab::{Lab, NAT_OUTSIDE, Node};
use crate::pair::{Pair, Role};
use crate::pki::{KeyKind, Pki};
use crate::run::Trouble;
use crate::swanctl::Terms;

/// What most rows agree on.
pub const GCM: &str = "aes128gcm16-prfsha256-x25519";

/// Who is the device; the other one is the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// keytoll initiates.
    KeytollDevice,
    /// strongSwan initiates.
    CharonDevice,
}

impl Direction {
    /// Both columns.
    pub const ALL: &[Self] = &[Self::KeytollDevice, Self::CharonDevice];

    pub(crate) const fn keytoll(self) -> Node {
        match self {
            Self::KeytollDevice => Node::Ue,
            Self::CharonDevice => Node::Gw,
        }
    }
}

/// How both sides prove themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// A shared key.
    Psk,
    /// Certificates.
    Certificate(KeyKind),
}

/// Which SA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The IKE SA.
    Ike,
    /// The SA for traffic.
    Child,
}

/// A row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// These suites, IKE's and ESP's: set up, used by packets, deleted.
    Suite(Proof, &'static str, &'static str),
    /// A signature by both sides with a key of this kind, in keytoll's words and in strongSwan's, and what that logs of it.
    Signature(KeyKind, &'static str, &'static str, &'static str),
    /// A signature of before RFC 7427, for a peer that announces no hash; the same.
    OldSignature(KeyKind, &'static str, &'static str),
    /// Nothing that one can sign with is something that the other one can verify.
    NoCommonSignature,
    /// Certificates too long for one packet, sent in fragments by both sides.
    Fragmentation,
    /// The gateway demands a cookie first.
    Cookie,
    /// The gateway wants another group than the device guessed.
    OtherGroup,
    /// No SA for traffic.
    Childless,
    /// New keys, wanted by one side.
    Rekey(Kind, Role),
    /// One side asks a silent peer whether it lives.
    Liveness(Role),
    /// One side is killed; the other notices, and forgets it.
    Killed(Role),
    /// One side closes the IKE SA.
    Delete(Role),
    /// The device is behind a NAT that changes ports.
    Nat,
    /// The NAT forgets the device and gives it another port.
    NatRebinding,
    /// IKE and ESP over IPv6.
    Ipv6,
}

/// Hands every row, as the name of a test and a [`Feature`], to the macro `$each`, after `($more)`.
#[macro_export]
macro_rules! ike_rows {
    ($each:ident($($more:tt)*)) => {
        $each! { ($($more)*)
            modp2048_with_cbc: Suite(Proof::Psk, "aes128-sha256-modp2048", "aes128-sha256"),
            modp2048_with_gcm: Suite(Proof::Psk, "aes128gcm16-prfsha256-modp2048", "aes128gcm16"),
            modp3072_with_cbc: Suite(Proof::Psk, "aes256-sha384-modp3072", "aes256-sha384"),
            modp3072_with_gcm: Suite(Proof::Psk, "aes256gcm16-prfsha384-modp3072", "aes256gcm16"),
            ecp256_with_cbc: Suite(Proof::Psk, "aes128-sha256-ecp256", "aes128-sha256"),
            ecp256_with_gcm: Suite(Proof::Psk, "aes128gcm16-prfsha256-ecp256", "aes128gcm16"),
            ecp384_with_cbc: Suite(Proof::Psk, "aes256-sha384-ecp384", "aes256-sha384"),
            ecp384_with_gcm: Suite(Proof::Psk, "aes256gcm16-prfsha384-ecp384", "aes256gcm16"),
            x25519_with_cbc: Suite(Proof::Psk, "aes128-sha256-x25519", "aes128-sha256"),
            x25519_with_gcm: Suite(Proof::Psk, "aes128gcm16-prfsha256-x25519", "aes128gcm16"),
            xcbc_and_counter_mode: Suite(Proof::Psk, "aes256ctr-aesxcbc-prfaesxcbc-ecp384", "aes256-sha384"),
            chacha: Suite(Proof::Psk, "chacha20poly1305-prfsha512-ecp256", "chacha20poly1305"),
            rsa_with_cbc: Suite(Proof::Certificate(KeyKind::Rsa2048), "aes128-sha256-modp2048", "aes128-sha256"),
            rsa_with_gcm:
                Suite(Proof::Certificate(KeyKind::Rsa2048), "aes128gcm16-prfsha256-x25519", "aes128gcm16"),
            ecdsa_with_cbc: Suite(Proof::Certificate(KeyKind::EcdsaP256), "aes128-sha256-ecp256", "aes128-sha256"),
            ecdsa_with_gcm:
                Suite(Proof::Certificate(KeyKind::EcdsaP256), "aes128gcm16-prfsha256-x25519", "aes128gcm16"),
            pss_sha256: Signature(KeyKind::Rsa2048, "rsa-pss-sha256", "rsa/pss-sha256", "RSA_EMSA_PSS_SHA2_256"),
            pss_sha384: Signature(KeyKind::Rsa2048, "rsa-pss-sha384", "rsa/pss-sha384", "RSA_EMSA_PSS_SHA2_384"),
            pss_sha512: Signature(KeyKind::Rsa2048, "rsa-pss-sha512", "rsa/pss-sha512", "RSA_EMSA_PSS_SHA2_512"),
            pkcs1_sha256: Signature(KeyKind::Rsa2048, "rsa-pkcs1-sha256", "rsa-sha256", "RSA_EMSA_PKCS1_SHA2_256"),
            pkcs1_sha384: Signature(KeyKind::Rsa2048, "rsa-pkcs1-sha384", "rsa-sha384", "RSA_EMSA_PKCS1_SHA2_384"),
            pkcs1_sha512: Signature(KeyKind::Rsa2048, "rsa-pkcs1-sha512", "rsa-sha512", "RSA_EMSA_PKCS1_SHA2_512"),
            p256_sha256: Signature(KeyKind::EcdsaP256, "ecdsa-sha256", "ecdsa-sha256", "ECDSA_WITH_SHA256_DER"),
            p256_sha384: Signature(KeyKind::EcdsaP256, "ecdsa-sha384", "ecdsa-sha384", "ECDSA_WITH_SHA384_DER"),
            p256_sha512: Signature(KeyKind::EcdsaP256, "ecdsa-sha512", "ecdsa-sha512", "ECDSA_WITH_SHA512_DER"),
            p384_sha384: Signature(KeyKind::EcdsaP384, "ecdsa-sha384", "ecdsa-sha384", "ECDSA_WITH_SHA384_DER"),
            p384_sha512: Signature(KeyKind::EcdsaP384, "ecdsa-sha512", "ecdsa-sha512", "ECDSA_WITH_SHA512_DER"),
            p521_sha512: Signature(KeyKind::EcdsaP521, "ecdsa-sha512", "ecdsa-sha512", "ECDSA_WITH_SHA512_DER"),
            ed25519: Signature(KeyKind::Ed25519, "ed25519", "ed25519", "ED25519"),
            old_rsa_sha1: OldSignature(KeyKind::Rsa2048, "rsa-pkcs1-sha1", "RSA signature"),
            old_p256: OldSignature(KeyKind::EcdsaP256, "ecdsa-raw-sha256", "ECDSA-256 signature"),
            old_p384: OldSignature(KeyKind::EcdsaP384, "ecdsa-raw-sha384", "ECDSA-384 signature"),
            old_p521: OldSignature(KeyKind::EcdsaP521, "ecdsa-raw-sha512", "ECDSA-521 signature"),
            no_common_signature: NoCommonSignature,
            fragmentation: Fragmentation,
            cookie: Cookie,
            other_group: OtherGroup,
            childless: Childless,
            rekey_ike_by_device: Rekey(Kind::Ike, Role::Device),
            rekey_ike_by_gateway: Rekey(Kind::Ike, Role::Gateway),
            rekey_child_by_device: Rekey(Kind::Child, Role::Device),
            rekey_child_by_gateway: Rekey(Kind::Child, Role::Gateway),
            liveness_of_the_gateway: Liveness(Role::Device),
            liveness_of_the_device: Liveness(Role::Gateway),
            killed_device: Killed(Role::Device),
            killed_gateway: Killed(Role::Gateway),
            delete_by_device: Delete(Role::Device),
            delete_by_gateway: Delete(Role::Gateway),
            nat: Nat,
            nat_rebinding: NatRebinding,
            ipv6: Ipv6,
        }
    };
}

macro_rules! as_constant {
    (() $($name:ident: $feature:ident $(($($part:expr),*))?,)*) => {
        &[$(Feature::$feature $(($($part),*))?),*]
    };
}

/// Two tests for each row; each calls `$run` with a direction and its feature.
#[macro_export]
macro_rules! ike_tests {
    (($direction:expr, $run:expr) $($name:ident: $feature:ident $(($($part:expr),*))?,)*) => { $(
        #[test]
        fn $name() {
            #[allow(unused_imports, reason = "some rows need none of them")]
            use $crate::{KeyKind, ikev2::{Kind, Proof}, pair::Role};
            ($run)($direction, $crate::ikev2::Feature::$feature $(($($part),*))?);
        }
    )* };
}

impl Feature {
    /// All rows.
    pub const ALL: &[Self] = ike_rows!(as_constant());

    /// What is known to come of it.
    pub const fn outcome(self, _: Direction) -> Outcome {
        Outcome::Passed
    }

    /// Tries it.
    pub fn run(self, direction: Direction, lab: &Lab, program: &str) -> Result<(), Trouble> {
        let stage = Stage { direction, lab, program };
        match self {
            Self::Suite(proof, ike, esp) => stage.suite(proof, ike, esp),
            Self::Signature(kind, ours, theirs, logged) => {
                let terms = Terms { signatures: theirs, keytoll_signature: ours, ..SIGNED };
                stage.signature(kind, &terms, logged)
            }
            Self::OldSignature(kind, ours, logged) => {
                let daemon = "signature_authentication = no";
                stage.signature(kind, &Terms { daemon, keytoll_signature: ours, ..SIGNED }, logged)
            }
            Self::NoCommonSignature => stage.no_common_signature(),
            Self::Fragmentation => stage.fragmentation(),
            Self::Cookie => stage.cookie(),
            Self::OtherGroup => stage.other_group(),
            Self::Childless => stage.childless(),
            Self::Rekey(kind, by) => stage.rekey(kind, by),
            Self::Liveness(by) => stage.liveness(by),
            Self::Killed(role) => stage.killed(role),
            Self::Delete(by) => stage.connected(&plain())?.delete(by),
            Self::Nat => stage.nat().map(drop),
            Self::NatRebinding => stage.nat_rebinding(),
            Self::Ipv6 => stage.ipv6(),
        }
    }
}

/// The usual terms.
const fn plain() -> Terms {
    Terms::psk(GCM, "aes128gcm16")
}

/// Certificates of some kind.
const SIGNED: Terms = Terms::certificate(GCM, "aes128gcm16");

/// Where a row is tried.
struct Stage<'a> {
    direction: Direction,
    lab: &'a Lab,
    program: &'a str,
}

impl<'a> Stage<'a> {
    fn start(&self, device: &Terms, gateway: &Terms, pki: Option<&Pki>) -> Result<Pair<'a>, Trouble> {
        Pair::start(self.direction, self.lab, self.program, [device, gateway], pki)
    }

    fn connected(&self, terms: &Terms) -> Result<Pair<'a>, Trouble> {
        let mut pair = self.start(terms, terms, None)?;
        pair.connect()?;
        Ok(pair)
    }

    fn suite(&self, proof: Proof, ike: &'static str, esp: &'static str) -> Result<(), Trouble> {
        let (terms, pki) = match proof {
            Proof::Psk => (Terms::psk(ike, esp), None),
            Proof::Certificate(kind) => {
                (Terms::certificate(ike, esp), Some(Pki::make(self.lab.shared_dir(), kind)?))
            }
        };
        let mut pair = self.start(&terms, &terms, pki.as_ref())?;
        pair.connect()?;
        pair.delete(Role::Device)
    }

    /// Both sides sign alike, and strongSwan says with what.
    fn signature(&self, kind: KeyKind, terms: &Terms, logged: &str) -> Result<(), Trouble> {
        let pki = Pki::make(self.lab.shared_dir(), kind)?;
        let mut pair = self.start(terms, terms, Some(&pki))?;
        pair.connect()?;
        let log = pair.charon().log();
        for who in ["(myself) with", "' with"] {
            let words = format!("{who} {logged}");
            assert!(log.contains(&words), "no {words:?} in strongSwan's log:\n{log}");
        }
        pair.delete(Role::Device)
    }

    /// A strongSwan without RFC 7427 accepts only SHA-1 of an RSA key, with which keytoll signs only if that is named. `peer_hash` lets
    /// strongSwan's own signature pass.
    fn no_common_signature(&self) -> Result<(), Trouble> {
        let pki = Pki::make(self.lab.shared_dir(), KeyKind::Rsa2048)?;
        let keytoll = "connection.peer_hash = \"sha1\"";
        let terms = Terms { daemon: "signature_authentication = no", keytoll, ..SIGNED };
        let mut pair = self.start(&terms, &terms, Some(&pki))?;
        let why = pair.refused_by_keytoll()?;
        let ours = "rsa-pkcs1-sha256, rsa-pkcs1-sha384, rsa-pkcs1-sha512";
        let said = format!(
            "no common signature scheme (we sign with {ours}; the peer announces no hash of RFC 7427)"
        );
        assert!(why.contains(&said), "{why}");
        Ok(())
    }

    /// Four RSA certificates on either side make each IKE_AUTH message longer than a packet.
    fn fragmentation(&self) -> Result<(), Trouble> {
        let pki = Pki::make_chains(self.lab.shared_dir(), KeyKind::Rsa2048, 4)?;
        let terms = Terms::certificate(GCM, "aes128gcm16");
        let mut pair = self.start(&terms, &terms, Some(&pki))?;
        pair.connect()?;
        // RFC 7383 §2.3: both sides said that they could, and did.
        for words in ["splitting IKE message", "received fragment #1 of "] {
            assert!(pair.charon().log().contains(words), "no {words:?} in strongSwan's log");
        }
        pair.delete(Role::Device)
    }

    fn cookie(&self) -> Result<(), Trouble> {
        // strongSwan demands one when another device is half-open.
        let terms = Terms { keytoll: "cookies = \"always\"", daemon: "cookie_threshold = 1", ..plain() };
        let mut pair = self.start(&terms, &terms, None)?;
        let half_open = pair.half_open(&terms)?;
        pair.connect()?;
        drop(half_open);
        assert!(pair.charon().log().contains("N(COOKIE)"), "no cookie was demanded");
        pair.expect_sa_inits(2)
    }

    fn other_group(&self) -> Result<(), Trouble> {
        let two = Terms::psk("aes128-sha256-x25519,aes128-sha256-modp2048", "aes128gcm16");
        let second = Terms::psk("aes128-sha256-modp2048", "aes128gcm16");
        let mut pair = self.start(&two, &second, None)?;
        pair.connect()?;
        assert!(pair.charon().log().contains("N(INVAL_KE)"), "no other group was wanted");
        pair.expect_sa_inits(2)
    }

    fn childless(&self) -> Result<(), Trouble> {
        let terms = Terms { charon: "childless = force", keytoll: "connection.childless = true", ..plain() };
        let mut pair = self.start(&terms, &terms, None)?;
        pair.connect_childless()?;
        pair.delete(Role::Device)
    }

    fn rekey(&self, kind: Kind, by: Role) -> Result<(), Trouble> {
        let mut pair = self.connected(&Terms::psk("aes128-sha256-x25519", "aes128-sha256-modp2048"))?;
        pair.rekey(kind, by)?;
        pair.traffic()?;
        pair.delete(Role::Device)
    }

    fn liveness(&self, by: Role) -> Result<(), Trouble> {
        let terms = if self.is_keytoll(by) {
            Terms { keytoll: "connection.liveness = \"1 s\"", ..plain() }
        } else {
            Terms { charon: "dpd_delay = 1s", ..plain() }
        };
        let pair = self.connected(&terms)?;
        let parsed = if self.is_keytoll(by) { "request" } else { "response" };
        pair.charon().await_log(&format!("parsed INFORMATIONAL {parsed}"))
    }

    fn killed(&self, role: Role) -> Result<(), Trouble> {
        let terms = Terms {
            keytoll: "connection.liveness = \"1 s\"\nretransmit_first = \"200 ms\"\nretransmit_tries = 3",
            charon: "dpd_delay = 1s",
            daemon: "retransmit_timeout = 0.2\n  retransmit_tries = 3",
            ..plain()
        };
        let mut pair = self.connected(&terms)?;
        pair.kill(role);
        pair.expect_forgotten(role)
    }

    fn nat(&self) -> Result<Pair<'a>, Trouble> {
        self.lab.insert_nat()?;
        let terms = Terms { keytoll: "encapsulation = \"auto\"", charon: "dpd_delay = 1s", ..plain() };
        let mut pair = self.start(&terms, &terms, None)?;
        let seen = pair.connect()?;
        assert!(
            seen.contains(&NAT_OUTSIDE.to_string()) && !seen.contains(":4500"),
            "the NAT changed nothing: {seen}"
        );
        Ok(pair)
    }

    fn nat_rebinding(&self) -> Result<(), Trouble> {
        let mut pair = self.nat()?;
        self.lab.forget_nat_bindings()?;
        pair.probe_by_device()?;
        pair.await_moved_child()?;
        pair.traffic()?;
        pair.delete(Role::Device)
    }

    fn ipv6(&self) -> Result<(), Trouble> {
        let mut pair = self.connected(&Terms { ipv6: true, ..plain() })?;
        pair.delete(Role::Device)
    }

    fn is_keytoll(&self, role: Role) -> bool {
        (self.direction == Direction::KeytollDevice) == (role == Role::Device)
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KeytollDevice => "keytoll → strongSwan",
            Self::CharonDevice => "strongSwan → keytoll",
        })
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Psk => "PSK",
            Self::Certificate(kind) => shown(*kind),
        })
    }
}

/// What a row calls a key.
pub(crate) const fn shown(kind: KeyKind) -> &'static str {
    match kind {
        KeyKind::Rsa2048 => "RSA-2048",
        KeyKind::EcdsaP256 => "ECDSA P-256",
        KeyKind::EcdsaP384 => "ECDSA P-384",
        KeyKind::EcdsaP521 => "ECDSA P-521",
        KeyKind::Ed25519 => "Ed25519",
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sa = |kind: &Kind| if *kind == Kind::Ike { "IKE SA" } else { "CHILD SA" };
        match self {
            Self::Suite(proof, ike, esp) => write!(f, "{proof}, {ike}, ESP {esp}"),
            Self::Signature(kind, scheme, ..) => write!(f, "{}, signed with `{scheme}`", shown(*kind)),
            Self::OldSignature(kind, scheme, _) => {
                write!(f, "{}, signed with `{scheme}`: strongSwan announces no hash", shown(*kind))
            }
            Self::NoCommonSignature => f.write_str("no common signature scheme is refused, and said"),
            Self::Fragmentation => {
                f.write_str("fragmentation (RFC 7383), both sides, chains of four RSA certificates")
            }
            Self::Cookie => f.write_str("the gateway demands a cookie"),
            Self::OtherGroup => f.write_str("the gateway wants another group (INVALID_KE_PAYLOAD)"),
            Self::Childless => f.write_str("childless (RFC 6023)"),
            Self::Rekey(kind, by) => write!(f, "rekey of the {}, by the {by}", sa(kind)),
            Self::Liveness(by) => write!(f, "liveness check by the {by}"),
            Self::Killed(role) => write!(f, "the {role} is killed, the other side notices and forgets"),
            Self::Delete(by) => write!(f, "delete by the {by}"),
            Self::Nat => f.write_str("the device behind a NAT that changes ports"),
            Self::NatRebinding => f.write_str("the NAT gives the device another port later"),
            Self::Ipv6 => f.write_str("IPv6 outside"),
        }
    }
}
