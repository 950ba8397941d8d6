//! What both versions of IKE can do, tried between keytoll and libreswan in both directions: a table of `RESULTS.md`.
//! [`libreswan_rows!`](crate::libreswan_rows) is the one list of it; the tests and the table follow. libreswan runs on a kernel
//! without ESP, so that no packet passes; instead the keys of every SA must be the same at both ends. Read ipsec.conf(5) and
//! RFC 7296 §2.15, RFC 7427, RFC 2409 §5 first.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use keytoll_daemons::Pluto;
use keytoll_daemons::charon::IkeVersion;
use keytoll_daemons::pluto::{Certificate, Config, SaKeys};

use crate::chain::Outcome;
use crate::ikev2::{GCM, Kind, Proof, shown};
use crate::lab::{Lab, NAT_OUTSIDE, Node};
use crate::pair::Role;
use crate::peer::Peer;
use crate::pki::{KeyKind, Pki};
use crate::run::{Trouble, wait_for};
use crate::swanctl::{Auth, Inner, Terms, peer_of};
use crate::verdict::{self, Judged};

/// How long pluto may take to write down what keytoll has already.
const LIMIT: Duration = Duration::from_secs(10);

/// The suites of rows that are about something else.
const IKE: &str = "aes128-sha256-modp2048";
const ESP: &str = "aes128-sha256";

/// Who is the device; the other one is the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// keytoll initiates.
    KeytollDevice,
    /// libreswan initiates.
    LibreswanDevice,
}

impl Direction {
    /// Both columns.
    pub const ALL: &[Self] = &[Self::KeytollDevice, Self::LibreswanDevice];

    const fn keytoll(self) -> Node {
        match self {
            Self::KeytollDevice => Node::Ue,
            Self::LibreswanDevice => Node::Gw,
        }
    }
}

/// A row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// This version and this proof with these suites, IKE's and ESP's: set up, deleted. A group in ESP's is perfect forward
    /// secrecy.
    Suite(IkeVersion, Proof, &'static str, &'static str),
    /// A signature by both sides with a key of this kind, in keytoll's words and in libreswan's, and what that logs of it.
    Signature(KeyKind, &'static str, &'static str, &'static str),
    /// New keys, wanted by one side.
    Rekey(IkeVersion, Kind, Role),
    /// One side closes the IKE SA.
    Delete(IkeVersion, Role),
    /// The device is behind a NAT that changes ports.
    Nat(IkeVersion),
    /// Certificates too long for one packet, on both sides; ours are seen to be sent in fragments.
    Fragmentation,
    /// The two do not share their key.
    WrongSecret(IkeVersion),
    /// The gateway trusts another authority than the device's certificate is of.
    WrongCertificate(IkeVersion),
    /// The gateway wants another suite.
    NoCommonSuite(IkeVersion),
    /// The gateway wants another suite for the child.
    NoCommonEspSuite(IkeVersion),
}

/// Hands every row, as the name of a test and a [`Feature`], to the macro `$each`, after `($more)`.
#[macro_export]
macro_rules! libreswan_rows {
    ($each:ident($($more:tt)*)) => {
        $each! { ($($more)*)
            main_psk: Suite(V1Main, Psk, "aes128-sha256-modp2048", "aes128-sha256"),
            main_rsa: Suite(V1Main, Certificate(Rsa2048), "aes256-sha512-modp3072", "aes256-sha256"),
            main_pfs: Suite(V1Main, Psk, "aes128-sha1-modp1536", "aes128-sha1-modp1536"),
            aggressive_psk: Suite(V1Aggressive, Psk, "aes128-sha256-modp2048", "aes128-sha256"),
            aggressive_rsa: Suite(V1Aggressive, Certificate(Rsa2048), "aes128-sha256-ecp256", "aes128gcm16"),
            psk_cbc: Suite(V2, Psk, "aes128-sha256-modp2048", "aes128-sha256"),
            psk_gcm: Suite(V2, Psk, "aes128gcm16-prfsha256-x25519", "aes128gcm16"),
            psk_ecp: Suite(V2, Psk, "aes256-sha384-ecp384", "aes256-sha384"),
            psk_strong: Suite(V2, Psk, "aes256gcm16-prfsha512-ecp521", "aes256gcm16"),
            psk_chacha: Suite(V2, Psk, "chacha20poly1305-prfsha256-x25519", "aes256gcm16"),
            pss_sha256: Signature(Rsa2048, "rsa-pss-sha256", "rsa-sha2_256", "RSASSA-PSS with SHA2_256"),
            pss_sha384: Signature(Rsa2048, "rsa-pss-sha384", "rsa-sha2_384", "RSASSA-PSS with SHA2_384"),
            pss_sha512: Signature(Rsa2048, "rsa-pss-sha512", "rsa-sha2_512", "RSASSA-PSS with SHA2_512"),
            pkcs1_sha256: Signature(Rsa2048, "rsa-pkcs1-sha256", "rsasig", "PKCS#1 1.5 RSA with SHA2_256"),
            pkcs1_sha384: Signature(Rsa2048, "rsa-pkcs1-sha384", "rsasig", "PKCS#1 1.5 RSA with SHA2_384"),
            pkcs1_sha512: Signature(Rsa2048, "rsa-pkcs1-sha512", "rsasig", "PKCS#1 1.5 RSA with SHA2_512"),
            rsa_sha1: Signature(Rsa2048, "rsa-pkcs1-sha1", "rsa-sha1", "PKCS#1 1.5 RSA with SHA1"),
            p256_sha256: Signature(EcdsaP256, "ecdsa-sha256", "ecdsa-sha2_256", "ECDSA with SHA2_256"),
            p256_sha384: Signature(EcdsaP256, "ecdsa-sha384", "ecdsa-sha2_384", "ECDSA with SHA2_384"),
            p384_sha384: Signature(EcdsaP384, "ecdsa-sha384", "ecdsa-sha2_384", "ECDSA with SHA2_384"),
            p521_sha512: Signature(EcdsaP521, "ecdsa-sha512", "ecdsa-sha2_512", "ECDSA with SHA2_512"),
            rekey_ike_by_device: Rekey(V2, Ike, Device),
            rekey_ike_by_gateway: Rekey(V2, Ike, Gateway),
            rekey_child_by_device: Rekey(V2, Child, Device),
            rekey_child_by_gateway: Rekey(V2, Child, Gateway),
            rekey_child_v1_by_device: Rekey(V1Main, Child, Device),
            rekey_child_v1_by_gateway: Rekey(V1Main, Child, Gateway),
            delete_by_gateway: Delete(V2, Gateway),
            delete_v1_by_gateway: Delete(V1Main, Gateway),
            nat: Nat(V2),
            nat_v1: Nat(V1Main),
            fragmentation: Fragmentation,
            wrong_secret_main: WrongSecret(V1Main),
            wrong_secret_aggressive: WrongSecret(V1Aggressive),
            wrong_certificate_main: WrongCertificate(V1Main),
            wrong_certificate_aggressive: WrongCertificate(V1Aggressive),
            no_common_suite_main: NoCommonSuite(V1Main),
            no_common_suite_aggressive: NoCommonSuite(V1Aggressive),
            no_common_esp_suite_main: NoCommonEspSuite(V1Main),
            no_common_esp_suite_aggressive: NoCommonEspSuite(V1Aggressive),
        }
    };
}

macro_rules! as_constant {
    (() $($name:ident: $feature:ident $(($($part:expr),*))?,)*) => { {
        use IkeVersion::{V1Aggressive, V1Main, V2};
        use KeyKind::{EcdsaP256, EcdsaP384, EcdsaP521, Rsa2048};
        use Kind::{Child, Ike};
        use Proof::{Certificate, Psk};
        use Role::{Device, Gateway};
        &[$(Feature::$feature $(($($part),*))?),*]
    } };
}

/// Two tests for each row; each calls `$run` with a direction and its feature.
#[macro_export]
macro_rules! libreswan_tests {
    (($direction:expr, $run:expr) $($name:ident: $feature:ident $(($($part:expr),*))?,)*) => { $(
        #[test]
        fn $name() {
            #[allow(unused_imports, reason = "some rows need none of them")]
            use $crate::{
                KeyKind::{EcdsaP256, EcdsaP384, EcdsaP521, Rsa2048},
                ikev1::IkeVersion::{V1Aggressive, V1Main, V2},
                ikev2::{Kind::{Child, Ike}, Proof::{Certificate, Psk}},
                pair::Role::{Device, Gateway},
            };
            ($run)($direction, $crate::libreswan::Feature::$feature $(($($part),*))?);
        }
    )* };
}

impl Feature {
    /// All rows.
    pub const ALL: &[Self] = libreswan_rows!(as_constant());

    /// What is known to come of it.
    pub const fn outcome(self, direction: Direction) -> Outcome {
        match (self, direction) {
            (Self::Rekey(IkeVersion::V1Main, _, Role::Gateway), Direction::KeytollDevice)
            | (Self::Rekey(IkeVersion::V1Main, _, Role::Device), Direction::LibreswanDevice) => {
                Outcome::NotOffered("libreswan 4.10 gives nothing of IKEv1 new keys on demand")
            }
            _ => Outcome::Passed,
        }
    }

    const fn version(self) -> IkeVersion {
        match self {
            Self::Suite(version, ..)
            | Self::Rekey(version, ..)
            | Self::Delete(version, _)
            | Self::Nat(version)
            | Self::WrongSecret(version)
            | Self::WrongCertificate(version)
            | Self::NoCommonSuite(version)
            | Self::NoCommonEspSuite(version) => version,
            Self::Signature(..) | Self::Fragmentation => IkeVersion::V2,
        }
    }

    /// That the capture of a row of IKEv1 that was tried tells what the two daemons logged.
    ///
    /// # Panics
    /// When it does not.
    pub fn judge(self, direction: Direction, lab: &Lab, program: &str) {
        let version = self.version();
        if version != IkeVersion::V2 {
            let keytoll = direction.keytoll();
            Judged { version, lab, program, keytoll, read: verdict::libreswan }.check();
        }
    }

    /// Tries it.
    pub fn run(self, direction: Direction, lab: &Lab, program: &str) -> Result<(), Trouble> {
        let stage = Stage { direction, lab, program };
        match self {
            Self::Suite(version, proof, ike, esp) => stage.suite(version, proof, ike, esp),
            Self::Signature(kind, ours, theirs, logged) => stage.signature(kind, ours, theirs, logged),
            Self::Rekey(version, kind, by) => stage.rekey(version, kind, by),
            Self::Delete(version, by) => stage.connected(plain(version), None, &[])?.delete(by),
            Self::Nat(version) => stage.nat(version),
            Self::Fragmentation => stage.fragmentation(),
            Self::WrongSecret(version) => {
                stage.refused(quick(version), Terms { secret: "another", ..quick(version) })
            }
            Self::WrongCertificate(version) => stage.wrong_certificate(version),
            Self::NoCommonSuite(version) => {
                stage.refused(quick(version), Terms { ike: "aes256-sha512-modp3072", ..quick(version) })
            }
            Self::NoCommonEspSuite(version) => {
                stage.refused(quick(version), Terms { esp: "aes256-sha512", ..quick(version) })
            }
        }
    }
}

/// Networks on both sides, and a shared key.
const fn plain(version: IkeVersion) -> Terms {
    Terms { inner: Inner::Subnet, ..Terms::v1(version, Auth::Psk, IKE, ESP) }
}

/// The same for who soon gives up.
const fn quick(version: IkeVersion) -> Terms {
    Terms { keytoll: "retransmit_first = \"200 ms\"\nretransmit_tries = 3", ..plain(version) }
}

/// What a side is told, and what it shows and trusts.
type Side<'a> = (&'a Terms, Option<&'a Pki>);

/// Where a row is tried.
struct Stage<'a> {
    direction: Direction,
    lab: &'a Lab,
    program: &'a str,
}

impl Stage<'_> {
    fn suite(
        &self,
        version: IkeVersion,
        proof: Proof,
        ike: &'static str,
        esp: &'static str,
    ) -> Result<(), Trouble> {
        let terms = Terms { ike, esp, ..plain(version) };
        let (terms, pki) = match proof {
            Proof::Psk => (terms, None),
            Proof::Certificate(kind) => {
                (Terms { auth: Auth::Certificate, ..terms }, Some(Pki::make(self.lab.shared_dir(), kind)?))
            }
        };
        self.connected(terms, pki.as_ref(), &[])?.delete(Role::Device)
    }

    fn signature(
        &self,
        kind: KeyKind,
        ours: &'static str,
        theirs: &str,
        logged: &str,
    ) -> Result<(), Trouble> {
        let pki = Pki::make(self.lab.shared_dir(), kind)?;
        let terms =
            Terms { auth: Auth::Certificate, ike: GCM, keytoll_signature: ours, ..plain(IkeVersion::V2) };
        let mut pair = self.connected(terms, Some(&pki), &[format!("authby={theirs}")])?;
        pair.pluto.await_log(logged)?;
        pair.delete(Role::Device)
    }

    fn rekey(&self, version: IkeVersion, kind: Kind, by: Role) -> Result<(), Trouble> {
        let mut pair = self.connected(plain(version), None, &[])?;
        pair.rekey(kind, by)?;
        pair.delete(Role::Device)
    }

    fn nat(&self, version: IkeVersion) -> Result<(), Trouble> {
        self.lab.insert_nat()?;
        let terms = Terms { keytoll: "encapsulation = \"auto\"", ..plain(version) };
        let anybody = ["right=%any".to_owned()];
        let is_gateway = self.direction == Direction::KeytollDevice;
        let mut pair = self.connected(terms, None, if is_gateway { &anybody } else { &[] })?;
        let seen = NAT_OUTSIDE.to_string();
        let found =
            if is_gateway { pair.pluto.log().contains(&seen) } else { pair.established.contains(&seen) };
        assert!(found, "the NAT changed nothing");
        pair.delete(Role::Device)
    }

    fn fragmentation(&self) -> Result<(), Trouble> {
        let pki = Pki::make_chains(self.lab.shared_dir(), KeyKind::Rsa2048, 4)?;
        let terms = Terms { auth: Auth::Certificate, ike: GCM, ..plain(IkeVersion::V2) };
        let mut pair = self.connected(terms, Some(&pki), &["sendca=all".to_owned()])?;
        assert!(pair.keytoll.traced("fragment=2 ") > 0, "IKE_AUTH went in one piece");
        pair.delete(Role::Device)
    }

    fn refused(&self, device: Terms, gateway: Terms) -> Result<(), Trouble> {
        self.expect_refused([(&device, None), (&gateway, None)])
    }

    fn wrong_certificate(&self, version: IkeVersion) -> Result<(), Trouble> {
        let pki = Pki::make(self.lab.shared_dir(), KeyKind::Rsa2048)?;
        let other = Pki::make(&self.lab.dir(Node::Aaa), KeyKind::Rsa2048)?;
        let terms = Terms { auth: Auth::Certificate, ..quick(version) };
        self.expect_refused([(&terms, Some(&pki)), (&terms, Some(&pki.trusting(&other)))])
    }

    /// The device tries in vain. libreswan as one says no itself, or repeats what it has said, whatever it is told.
    fn expect_refused(&self, sides: [Side<'_>; 2]) -> Result<(), Trouble> {
        let (pluto, mut keytoll) = self.begun(sides, &[])?;
        match self.direction {
            Direction::KeytollDevice => keytoll.expect("failed").map(drop),
            Direction::LibreswanDevice => {
                let ends = ["sending notification ", "retransmission; will wait"];
                let ended = || ends.iter().any(|words| pluto.log().contains(words)).then_some(());
                wait_for("the end of its attempt", LIMIT, ended, || pluto.log())
            }
        }
    }

    /// Both sides, started and joined.
    fn connected(&self, terms: Terms, pki: Option<&Pki>, more: &[String]) -> Result<Pair, Trouble> {
        let (pluto, mut keytoll) = self.begun([(&terms, pki); 2], more)?;
        let established = keytoll.expect("established")?;
        keytoll.expect("child-up")?;
        let ours = self.direction.keytoll();
        let keys = self.lab.dir(ours).join(format!("{}.keys", ours.name()));
        let pair = Pair { direction: self.direction, keytoll, pluto, established, keys };
        pair.expect_same_keys(2)?;
        Ok(pair)
    }

    /// Both sides, the gateway listening before the device begins.
    fn begun(&self, [device, gateway]: [Side<'_>; 2], more: &[String]) -> Result<(Pluto, Peer), Trouble> {
        let ours = self.direction.keytoll();
        let theirs = peer_of(ours);
        let pluto = |(terms, pki)| {
            let config = config(theirs, terms, pki, more);
            Pluto::start(&self.lab.place(theirs), &self.lab.dir(theirs), &config)
        };
        let keytoll = |(terms, pki)| Peer::captured(self.lab, ours, self.program, terms, pki);
        match self.direction {
            Direction::KeytollDevice => {
                let pluto = pluto(gateway)?;
                let mut keytoll = keytoll(device)?;
                keytoll.say("echo")?;
                Ok((pluto, keytoll))
            }
            Direction::LibreswanDevice => {
                let keytoll = keytoll(gateway)?;
                let pluto = pluto(device)?;
                pluto.initiate()?;
                Ok((pluto, keytoll))
            }
        }
    }
}

/// Both ends of an IKE SA.
struct Pair {
    direction: Direction,
    keytoll: Peer,
    pluto: Pluto,
    /// What keytoll told of it.
    established: String,
    /// Where keytoll writes its keys down.
    keys: PathBuf,
}

impl Pair {
    fn is_keytoll(&self, role: Role) -> bool {
        (self.direction == Direction::KeytollDevice) == (role == Role::Device)
    }

    /// Both have these many SAs for traffic by now, with the same keys.
    fn expect_same_keys(&self, count: usize) -> Result<(), Trouble> {
        let same = || {
            let (ours, theirs) = (self.ours(), self.pluto.sas());
            let is_same = |(spi, keys): (&u32, &SaKeys)| theirs.get(spi) == Some(keys);
            (ours.len() == count && ours.iter().all(is_same)).then_some(())
        };
        let detail =
            || format!("ours {:?}\ntheirs {:?}\n{}", self.ours(), self.pluto.sas(), self.pluto.log());
        wait_for("the same keys at both ends", LIMIT, same, detail)
    }

    /// keytoll's keys, as it writes them down for Wireshark.
    fn ours(&self) -> BTreeMap<u32, SaKeys> {
        let table = fs::read_to_string(self.keys.join("esp_sa")).unwrap_or_default();
        table.lines().filter_map(sa).collect()
    }

    fn rekey(&mut self, kind: Kind, by: Role) -> Result<(), Trouble> {
        let is_ike = kind == Kind::Ike;
        if self.is_keytoll(by) {
            self.keytoll.say(if is_ike { "rekey-ike" } else { "rekey-child" })?;
        } else {
            self.pluto.rekey(is_ike)?;
        }
        self.keytoll.expect(if is_ike { "rekeyed" } else { "child-rekeyed" })?;
        if is_ike {
            // What closes the connection sooner meets an SA that pluto does not have yet.
            self.pluto.await_log("rekeyed IKE SA")?;
        }
        self.expect_same_keys(if is_ike { 2 } else { 4 })
    }

    fn delete(&mut self, by: Role) -> Result<(), Trouble> {
        if self.is_keytoll(by) {
            self.keytoll.say("delete")?;
        } else {
            self.pluto.terminate()?;
        }
        self.keytoll.expect("closed deleted").map(drop)
    }
}

/// `"IPv4","10.99.1.1","10.99.1.2","0x1a2b3c4d","AES-CBC [RFC3602]","0x0011…","HMAC-SHA-256-128 [RFC4868]","0x0011…"`.
fn sa(line: &str) -> Option<(u32, SaKeys)> {
    let fields: Vec<_> = line.split("\",\"").map(|field| field.trim_matches('"')).collect();
    let [_, _, _, spi, _, encryption, _, integrity] = fields.as_slice() else { return None };
    let key = |text: &str| text.trim_start_matches("0x").to_owned();
    let spi = u32::from_str_radix(spi.trim_start_matches("0x"), 16).ok()?;
    Some((spi, SaKeys { encryption: key(encryption), integrity: key(integrity) }))
}

/// The configuration of libreswan on a node, with more lines of its connection, which replace others of the same name.
pub fn config(node: Node, terms: &Terms, pki: Option<&Pki>, more: &[String]) -> Config {
    let peer = peer_of(node);
    let version = match terms.version {
        IkeVersion::V2 => "ikev2=insist",
        IkeVersion::V1Main | IkeVersion::V1Aggressive => "ikev2=no",
    };
    let aggressive = if terms.version == IkeVersion::V1Aggressive { "yes" } else { "no" };
    let pfs = if terms.esp.contains("modp") { "yes" } else { "no" };
    let encapsulation = if terms.keytoll.is_empty() { "yes" } else { "auto" };
    let mut connection = vec![
        format!("left={}", node.outer()),
        format!("right={}", peer.outer()),
        format!("leftid={}", id(node)),
        format!("rightid={}", id(peer)),
        format!("leftsubnet={}", node.inner_net()),
        format!("rightsubnet={}", peer.inner_net()),
        version.to_owned(),
        format!("aggressive={aggressive}"),
        format!("ike={}", words(terms.ike)),
        format!("esp={}", words(terms.esp)),
        format!("pfs={pfs}"),
        format!("encapsulation={encapsulation}"),
    ];
    let proof = match pki {
        None => "authby=secret",
        Some(_) => "leftcert=own\n\tleftsendcert=always\n\trightca=%same",
    };
    connection.push(proof.to_owned());
    if pki.is_some() && terms.keytoll_signature.is_empty() {
        connection.push("authby=rsasig".to_owned());
    }
    // Of two settings of the same name the later one counts only with its first out of the way.
    let is_replaced = |line: &String| more.iter().any(|new| new.split('=').next() == line.split('=').next());
    connection.retain(|line| !is_replaced(line));
    connection.extend_from_slice(more);
    let certificate = pki.map(|pki| Certificate {
        certificate: pki.certificate(node),
        key: pki.key(node),
        root: pki.root_certificate(),
    });
    Config { connection, secret: terms.secret.to_owned(), certificate }
}

/// A name of a host has a mark in front, so that nobody looks up its address.
fn id(node: Node) -> String {
    let id = node.id();
    if id.contains('@') { id.to_owned() } else { format!("@{id}") }
}

/// strongSwan's words for a suite in libreswan's.
fn words(suite: &str) -> String {
    let word = |word: &str| {
        let known = [
            ("aes128gcm16", "aes_gcm128"),
            ("aes256gcm16", "aes_gcm256"),
            ("chacha20poly1305", "chacha20_poly1305"),
            ("sha256", "sha2_256"),
            ("sha384", "sha2_384"),
            ("sha512", "sha2_512"),
            ("prfsha256", "sha2_256"),
            ("prfsha512", "sha2_512"),
            ("ecp256", "dh19"),
            ("ecp384", "dh20"),
            ("ecp521", "dh21"),
            ("x25519", "dh31"),
        ];
        known.into_iter().find(|(theirs, _)| *theirs == word).map_or(word, |(_, ours)| ours).to_owned()
    };
    suite.split('-').map(word).collect::<Vec<_>>().join("-")
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KeytollDevice => "keytoll → libreswan",
            Self::LibreswanDevice => "libreswan → keytoll",
        })
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sa = |kind: &Kind| if *kind == Kind::Ike { "IKE SA" } else { "CHILD SA" };
        match self {
            Self::Suite(version, proof, ike, esp) => {
                write!(f, "{}, {proof}, {ike}, ESP {esp}", mode(*version))
            }
            Self::Signature(kind, scheme, ..) => {
                write!(f, "IKEv2, {}, signed with `{scheme}`", shown(*kind))
            }
            Self::Rekey(version, kind, by) => {
                write!(f, "{}, rekey of the {}, by the {by}", mode(*version), sa(kind))
            }
            Self::Delete(version, by) => write!(f, "{}, delete by the {by}", mode(*version)),
            Self::Nat(version) => {
                write!(f, "{}, the device behind a NAT that changes ports", mode(*version))
            }
            Self::Fragmentation => {
                f.write_str("IKEv2, fragmentation (RFC 7383), chains of four RSA certificates")
            }
            Self::WrongSecret(version) => write!(f, "{}, a wrong shared key is refused", mode(*version)),
            Self::WrongCertificate(version) => {
                write!(f, "{}, a certificate of another authority is refused", mode(*version))
            }
            Self::NoCommonSuite(version) => write!(f, "{}, no common suite is refused", mode(*version)),
            Self::NoCommonEspSuite(version) => {
                write!(f, "{}, no common suite for the child is refused", mode(*version))
            }
        }
    }
}

const fn mode(version: IkeVersion) -> &'static str {
    match version {
        IkeVersion::V2 => "IKEv2",
        IkeVersion::V1Main => "main mode",
        IkeVersion::V1Aggressive => "aggressive mode",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_translated() {
        assert_eq!(words(IKE), "aes128-sha2_256-modp2048");
        assert_eq!(words(GCM), "aes_gcm128-sha2_256-dh31");
    }

    #[test]
    fn wireshark_s_table_is_read() {
        let line = "\"IPv4\",\"10.99.1.1\",\"10.99.1.2\",\"0x0a2b3c4d\",\"AES-CBC [RFC3602]\",\"0x0011\",\"HMAC-SHA-256-128 [RFC4868]\",\"0x2233\"";
        let keys = SaKeys { encryption: "0011".to_owned(), integrity: "2233".to_owned() };
        assert_eq!(sa(line), Some((0x0a2b_3c4d, keys)));
    }
}
