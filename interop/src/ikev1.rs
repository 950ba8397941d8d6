//! What IKEv1 can do, tried between keytoll and strongSwan in both directions: the third table of `RESULTS.md`.
//! [`ikev1_rows!`](crate::ikev1_rows) is the one list of it; the tests and the table follow. Read RFC 2409 §5, RFC 3706 §5,
//! RFC 3947 first.

use std::fmt;

/// What rows are made of.
pub use keytoll_daemons::charon::IkeVersion;

use crate::chain::Outcome;
use crate::ikev2::Direction;
use crate::lab::{Lab, NAT_OUTSIDE, Node};
use crate::pair::Pair;
pub use crate::pair::Role;
use crate::pki::{KeyKind, Pki};
use crate::run::Trouble;
pub use crate::swanctl::Auth;
use crate::swanctl::Terms;
use crate::verdict::{self, Judged};

/// The suites of rows that are about something else.
const IKE: &str = "aes128-sha256-modp2048";
const ESP: &str = "aes128-sha256";

/// A row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// This phase 1 and this proof with these suites, IKE's and ESP's: set up, used by packets, deleted. A group in ESP's is
    /// perfect forward secrecy.
    Suite(IkeVersion, Auth, &'static str, &'static str),
    /// Chains of four certificates, in one message each, cut by IP.
    LongChains(IkeVersion),
    /// New keys for the child, wanted by one side.
    RekeyChild(Role),
    /// A new ISAKMP SA in place of the old one, wanted by one side.
    Reauthentication(IkeVersion, Role),
    /// The same, wanted by strongSwan, whichever side it is.
    ReauthenticationByPeer(IkeVersion),
    /// One side asks a silent peer whether it lives (RFC 3706).
    DeadPeerDetection(Role),
    /// One side is killed; the other notices, and forgets it.
    Killed(Role),
    /// One side closes the ISAKMP SA.
    Delete(IkeVersion, Role),
    /// The device is behind a NAT that changes ports.
    Nat(IkeVersion),
    /// Every fourth packet is lost, whoever sent it.
    Loss(IkeVersion),
    /// The two do not share their key.
    WrongSecret(IkeVersion),
    /// The device says it is somebody whom the gateway does not expect.
    WrongIdentity(IkeVersion),
    /// The gateway trusts another authority than the device's certificate is of.
    WrongCertificate(IkeVersion),
    /// The gateway wants another suite.
    NoCommonSuite(IkeVersion),
    /// The gateway wants another suite for the child.
    NoCommonEspSuite(IkeVersion),
    /// ISAKMP and IPsec over IPv6.
    Ipv6(IkeVersion),
}

/// Hands every row, as the name of a test and a [`Feature`], to the macro `$each`, after `($more)`.
#[macro_export]
macro_rules! ikev1_rows {
    ($each:ident($($more:tt)*)) => {
        $each! { ($($more)*)
            main_psk: Suite(V1Main, Psk, "aes128-sha256-modp2048", "aes128-sha256"),
            main_rsa: Suite(V1Main, Certificate, "aes128-sha256-modp2048", "aes128-sha256"),
            main_raw_keys: Suite(V1Main, RawKey, "aes128-sha256-modp2048", "aes128-sha256"),
            aggressive_psk: Suite(V1Aggressive, Psk, "aes128-sha256-modp2048", "aes128-sha256"),
            aggressive_rsa: Suite(V1Aggressive, Certificate, "aes128-sha256-modp2048", "aes128-sha256"),
            aggressive_raw_keys: Suite(V1Aggressive, RawKey, "aes128-sha256-modp2048", "aes128-sha256"),
            legacy_main_psk: Suite(V1Main, Psk, "3des-md5-modp1024", "3des-md5"),
            legacy_main_rsa: Suite(V1Main, Certificate, "3des-md5-modp1024", "3des-md5"),
            legacy_aggressive_psk: Suite(V1Aggressive, Psk, "3des-md5-modp1024", "3des-md5"),
            sha1_modp1024: Suite(V1Main, Psk, "aes128-sha1-modp1024", "aes128-sha1"),
            sha1_modp1536: Suite(V1Main, Psk, "3des-sha1-modp1536", "3des-sha1"),
            aes256_modp2048: Suite(V1Main, Psk, "aes256-sha256-modp2048", "aes256-sha256"),
            aes192_modp3072: Suite(V1Main, Psk, "aes192-sha512-modp3072", "aes192-sha512"),
            ecp256: Suite(V1Main, Psk, "aes128-sha256-ecp256", "aes128-sha256"),
            ecp384: Suite(V1Aggressive, Certificate, "aes256-sha384-ecp384", "aes256-sha384"),
            ecp521: Suite(V1Main, Certificate, "aes256-sha512-ecp521", "aes256-sha512"),
            gcm: Suite(V1Main, Psk, "aes128-sha256-modp2048", "aes128gcm16"),
            pfs_main: Suite(V1Main, Psk, "aes128-sha256-modp2048", "aes128-sha256-modp2048"),
            pfs_aggressive: Suite(V1Aggressive, Certificate, "aes128-sha256-ecp256", "aes128-sha256-ecp256"),
            groups_modp768: Suite(V1Main, Psk, "aes128-sha1-modp768", "aes128-sha1-modp768"),
            groups_modp1024: Suite(V1Aggressive, Psk, "aes128-sha1-modp1024", "aes128-sha1-modp1024"),
            groups_modp1536: Suite(V1Main, Certificate, "aes128-sha1-modp1536", "aes128-sha1-modp1536"),
            groups_modp3072: Suite(V1Aggressive, Certificate, "aes128-sha256-modp3072", "aes128-sha256-modp3072"),
            groups_modp4096: Suite(V1Main, Psk, "aes256-sha512-modp4096", "aes256-sha512-modp4096"),
            groups_modp6144: Suite(V1Main, Psk, "aes256-sha512-modp6144", "aes256-sha512-modp6144"),
            groups_modp8192: Suite(V1Main, Psk, "aes256-sha512-modp8192", "aes256-sha512-modp8192"),
            groups_ecp384: Suite(V1Main, Psk, "aes256-sha384-ecp384", "aes256-sha384-ecp384"),
            groups_ecp521: Suite(V1Aggressive, Certificate, "aes256-sha512-ecp521", "aes256-sha512-ecp521"),
            other_group_for_pfs: Suite(V1Main, Psk, "aes128-sha256-modp1024", "aes256-sha256-ecp384"),
            long_chains_main: LongChains(V1Main),
            long_chains_aggressive: LongChains(V1Aggressive),
            rekey_child_by_device: RekeyChild(Device),
            rekey_child_by_gateway: RekeyChild(Gateway),
            reauthentication_by_device: Reauthentication(V1Main, Device),
            reauthentication_by_gateway: Reauthentication(V1Main, Gateway),
            reauthentication_by_strongswan: ReauthenticationByPeer(V1Aggressive),
            dead_peer_detection_by_device: DeadPeerDetection(Device),
            dead_peer_detection_by_gateway: DeadPeerDetection(Gateway),
            killed_device: Killed(Device),
            killed_gateway: Killed(Gateway),
            delete_by_device: Delete(V1Main, Device),
            delete_by_gateway: Delete(V1Main, Gateway),
            aggressive_delete_by_gateway: Delete(V1Aggressive, Gateway),
            nat_main: Nat(V1Main),
            nat_aggressive: Nat(V1Aggressive),
            loss_main: Loss(V1Main),
            loss_aggressive: Loss(V1Aggressive),
            wrong_secret_main: WrongSecret(V1Main),
            wrong_secret_aggressive: WrongSecret(V1Aggressive),
            wrong_identity_main: WrongIdentity(V1Main),
            wrong_identity_aggressive: WrongIdentity(V1Aggressive),
            wrong_certificate_main: WrongCertificate(V1Main),
            wrong_certificate_aggressive: WrongCertificate(V1Aggressive),
            no_common_suite_main: NoCommonSuite(V1Main),
            no_common_suite_aggressive: NoCommonSuite(V1Aggressive),
            no_common_esp_suite_main: NoCommonEspSuite(V1Main),
            no_common_esp_suite_aggressive: NoCommonEspSuite(V1Aggressive),
            ipv6_main: Ipv6(V1Main),
            ipv6_aggressive: Ipv6(V1Aggressive),
        }
    };
}

macro_rules! as_constant {
    (() $($name:ident: $feature:ident $(($($part:expr),*))?,)*) => { {
        use Auth::{Certificate, Psk, RawKey};
        use IkeVersion::{V1Aggressive, V1Main};
        use Role::{Device, Gateway};
        &[$(Feature::$feature $(($($part),*))?),*]
    } };
}

/// Two tests for each row; each calls `$run` with a direction and its feature.
#[macro_export]
macro_rules! ikev1_tests {
    (($direction:expr, $run:expr) $($name:ident: $feature:ident $(($($part:expr),*))?,)*) => { $(
        #[test]
        fn $name() {
            #[allow(unused_imports, reason = "some rows need none of them")]
            use $crate::ikev1::{Auth::{Certificate, Psk, RawKey}, IkeVersion::{V1Aggressive, V1Main}, Role::{Device, Gateway}};
            ($run)($direction, $crate::ikev1::Feature::$feature $(($($part),*))?);
        }
    )* };
}

impl Feature {
    /// All rows.
    pub const ALL: &[Self] = ikev1_rows!(as_constant());

    /// What is known to come of it.
    pub const fn outcome(self, direction: Direction) -> Outcome {
        match (self, direction) {
            // The third packet of the device is the one that is lost.
            (Self::Loss(IkeVersion::V1Aggressive), Direction::CharonDevice) => Outcome::Failed {
                words: "received retransmit of response with ID 0, resending last request",
                why: "strongSwan 5.9.8 never repeats the last message of aggressive mode: asked for it, it repeats quick \
                      mode's first",
            },
            _ => Outcome::Passed,
        }
    }

    const fn version(self) -> IkeVersion {
        match self {
            Self::Suite(version, ..)
            | Self::LongChains(version)
            | Self::Reauthentication(version, _)
            | Self::ReauthenticationByPeer(version)
            | Self::Delete(version, _)
            | Self::Nat(version)
            | Self::Loss(version)
            | Self::WrongSecret(version)
            | Self::WrongIdentity(version)
            | Self::WrongCertificate(version)
            | Self::NoCommonSuite(version)
            | Self::NoCommonEspSuite(version)
            | Self::Ipv6(version) => version,
            Self::RekeyChild(_) | Self::DeadPeerDetection(_) | Self::Killed(_) => IkeVersion::V1Main,
        }
    }

    /// Why its capture cannot be held against the logs, if it cannot.
    const fn unjudged(self, direction: Direction) -> Option<&'static str> {
        match (self, direction) {
            (Self::Killed(Role::Device), Direction::KeytollDevice)
            | (Self::Killed(Role::Gateway), Direction::CharonDevice) => {
                Some("keytoll is killed, and does not write down what waits to be written")
            }
            _ => None,
        }
    }

    /// That the capture of a row that was tried tells what the two daemons logged.
    ///
    /// # Panics
    /// When it does not.
    pub fn judge(self, direction: Direction, lab: &Lab, program: &str) {
        if self.unjudged(direction).is_none() {
            let keytoll = direction.keytoll();
            Judged { version: self.version(), lab, program, keytoll, read: verdict::strongswan }.check();
        }
    }

    /// Tries it.
    pub fn run(self, direction: Direction, lab: &Lab, program: &str) -> Result<(), Trouble> {
        let stage = Stage { direction, lab, program };
        match self {
            Self::Suite(version, auth, ike, esp) => stage.suite(version, auth, ike, esp),
            Self::LongChains(version) => stage.long_chains(version),
            Self::RekeyChild(by) => stage.rekey_child(by),
            Self::Reauthentication(version, by) => stage.reauthentication(version, by),
            Self::ReauthenticationByPeer(version) => {
                let by = if stage.is_keytoll(Role::Device) { Role::Gateway } else { Role::Device };
                stage.reauthentication(version, by)
            }
            Self::DeadPeerDetection(by) => stage.dead_peer_detection(by),
            Self::Killed(role) => stage.killed(role),
            Self::Delete(version, by) => stage.connected(&plain(version))?.delete(by),
            Self::Nat(version) => stage.nat(version),
            Self::Loss(version) => stage.loss(version),
            Self::WrongSecret(version) => stage.wrong_secret(version),
            Self::WrongIdentity(version) => stage.wrong_identity(version),
            Self::WrongCertificate(version) => stage.wrong_certificate(version),
            Self::NoCommonSuite(version) => stage.no_common_suite(version),
            Self::NoCommonEspSuite(version) => stage.no_common_esp_suite(version),
            Self::Ipv6(version) => stage.ipv6(version),
        }
    }
}

/// The usual terms.
const fn plain(version: IkeVersion) -> Terms {
    Terms::v1(version, Auth::Psk, IKE, ESP)
}

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
        pair.connect_v1()?;
        Ok(pair)
    }

    fn suite(
        &self,
        version: IkeVersion,
        auth: Auth,
        ike: &'static str,
        esp: &'static str,
    ) -> Result<(), Trouble> {
        let terms = Terms::v1(version, auth, ike, esp);
        let with_keys = || Pki::make(self.lab.shared_dir(), KeyKind::Rsa2048);
        let pki = if auth == Auth::Psk { None } else { Some(with_keys()?) };
        let mut pair = self.start(&terms, &terms, pki.as_ref())?;
        pair.connect_v1()?;
        pair.delete(Role::Device)
    }

    /// keytoll has no fragmentation of IKEv1, and says so by saying nothing: messages of several packets are IP's.
    fn long_chains(&self, version: IkeVersion) -> Result<(), Trouble> {
        let pki = Pki::make_chains(self.lab.shared_dir(), KeyKind::Rsa2048, 4)?;
        let terms = Terms::v1(version, Auth::Certificate, IKE, ESP);
        let mut pair = self.start(&terms, &terms, Some(&pki))?;
        pair.connect_v1()?;
        pair.delete(Role::Device)
    }

    fn rekey_child(&self, by: Role) -> Result<(), Trouble> {
        let mut pair =
            self.connected(&Terms::v1(IkeVersion::V1Main, Auth::Psk, IKE, "aes128-sha256-modp2048"))?;
        pair.rekey_child_v1(by)?;
        pair.traffic()?;
        pair.delete(Role::Device)
    }

    fn reauthentication(&self, version: IkeVersion, by: Role) -> Result<(), Trouble> {
        let mut pair = self.connected(&plain(version))?;
        pair.reauthenticate(by)?;
        pair.traffic()
    }

    fn dead_peer_detection(&self, by: Role) -> Result<(), Trouble> {
        let terms = if self.is_keytoll(by) {
            Terms { keytoll: "connection.liveness = \"1 s\"", ..plain(IkeVersion::V1Main) }
        } else {
            Terms { charon: "dpd_delay = 1s", ..plain(IkeVersion::V1Main) }
        };
        let pair = self.connected(&terms)?;
        // RFC 3706 §5.3: R-U-THERE is one message, its acknowledgement another.
        let told = if self.is_keytoll(by) { "generating" } else { "parsed" };
        let pattern = format!("{told} INFORMATIONAL_V1 ");
        pair.charon()
            .await_line("R-U-THERE-ACK", |line| line.contains(&pattern) && line.contains("N(DPD_ACK)"))
    }

    fn killed(&self, role: Role) -> Result<(), Trouble> {
        let terms = Terms {
            keytoll: "connection.liveness = \"1 s\"\nretransmit_first = \"200 ms\"\nretransmit_tries = 3",
            charon: "dpd_delay = 1s\n  dpd_timeout = 3s",
            daemon: "retransmit_timeout = 0.2\n  retransmit_tries = 3",
            ..plain(IkeVersion::V1Main)
        };
        let mut pair = self.connected(&terms)?;
        pair.kill(role);
        pair.expect_forgotten(role)
    }

    fn nat(&self, version: IkeVersion) -> Result<(), Trouble> {
        self.lab.insert_nat()?;
        let terms = Terms { keytoll: "encapsulation = \"auto\"", ..plain(version) };
        let mut pair = self.start(&terms, &terms, None)?;
        let seen = pair.connect_v1()?;
        assert!(
            seen.contains(&NAT_OUTSIDE.to_string()) && !seen.contains(":4500"),
            "the NAT changed nothing: {seen}"
        );
        pair.delete(Role::Device)
    }

    fn loss(&self, version: IkeVersion) -> Result<(), Trouble> {
        let terms = Terms {
            // Which packet is the third follows from who repeats itself first: let it not be a matter of milliseconds.
            keytoll: "retransmit_first = \"700 ms\"\nretransmit_base = 1.2",
            daemon: "retransmit_timeout = 0.5\n  retransmit_base = 1.2",
            ..plain(version)
        };
        let mut pair = self.start(&terms, &terms, None)?;
        self.lab.lose_every_fourth()?;
        pair.set_up()?;
        self.lab.lose_nothing()?;
        pair.traffic()?;
        pair.delete(Role::Device)
    }

    fn wrong_secret(&self, version: IkeVersion) -> Result<(), Trouble> {
        let terms = quick(version);
        self.start(&terms, &Terms { secret: "another", ..terms }, None)?.expect_refused()
    }

    fn wrong_identity(&self, version: IkeVersion) -> Result<(), Trouble> {
        let terms = quick(version);
        let other = Terms { own_id: Some("other@lab"), ..terms };
        self.start(&other, &terms, None)?.expect_refused()
    }

    fn wrong_certificate(&self, version: IkeVersion) -> Result<(), Trouble> {
        let pki = Pki::make(self.lab.shared_dir(), KeyKind::Rsa2048)?;
        let other = Pki::make(&self.lab.dir(Node::Aaa), KeyKind::Rsa2048)?;
        let terms = Terms { auth: Auth::Certificate, ..quick(version) };
        let sides = [(&terms, Some(&pki)), (&terms, Some(&pki.trusting(&other)))];
        let mut pair = Pair::start_each(self.direction, self.lab, self.program, sides)?;
        match version {
            // strongSwan has said its last, believes in the ISAKMP SA, and is not told otherwise by a notification.
            IkeVersion::V1Aggressive => pair.expect_refused_always(),
            IkeVersion::V1Main | IkeVersion::V2 => pair.expect_refused(),
        }
    }

    fn no_common_suite(&self, version: IkeVersion) -> Result<(), Trouble> {
        let terms = quick(version);
        self.start(&terms, &Terms { ike: "aes256-sha512-modp3072", ..terms }, None)?.expect_refused()
    }

    fn no_common_esp_suite(&self, version: IkeVersion) -> Result<(), Trouble> {
        let terms = quick(version);
        self.start(&terms, &Terms { esp: "aes256-sha512", ..terms }, None)?.expect_child_refused()
    }

    fn ipv6(&self, version: IkeVersion) -> Result<(), Trouble> {
        let mut pair = self.connected(&Terms { ipv6: true, ..plain(version) })?;
        pair.delete(Role::Device)
    }

    fn is_keytoll(&self, role: Role) -> bool {
        (self.direction == Direction::KeytollDevice) == (role == Role::Device)
    }
}

/// Terms of who soon gives up.
const fn quick(version: IkeVersion) -> Terms {
    Terms {
        keytoll: "retransmit_first = \"200 ms\"\nretransmit_tries = 3",
        daemon: "retransmit_timeout = 0.2\n  retransmit_tries = 3",
        ..plain(version)
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Suite(version, auth, ike, esp) => {
                write!(f, "{}, {}, {ike}, ESP {esp}", mode(*version), proof(*auth))
            }
            Self::LongChains(version) => write!(f, "{}, chains of four RSA certificates", mode(*version)),
            Self::RekeyChild(by) => write!(f, "rekey of the child with PFS, by the {by}"),
            Self::Reauthentication(version, by) => {
                write!(f, "{}, a new ISAKMP SA in place of the old one, by the {by}", mode(*version))
            }
            Self::ReauthenticationByPeer(version) => {
                write!(f, "{}, a new ISAKMP SA in place of the old one, by strongSwan", mode(*version))
            }
            Self::DeadPeerDetection(by) => write!(f, "dead peer detection (RFC 3706) by the {by}"),
            Self::Killed(role) => write!(f, "the {role} is killed, the other side notices and forgets"),
            Self::Delete(version, by) => write!(f, "{}, delete by the {by}", mode(*version)),
            Self::Nat(version) => write!(f, "{}, the device behind a NAT that changes ports", mode(*version)),
            Self::Loss(version) => write!(f, "{}, every fourth packet lost", mode(*version)),
            Self::WrongSecret(version) => write!(f, "{}, a wrong shared key is refused", mode(*version)),
            Self::WrongIdentity(version) => write!(f, "{}, an unknown device is refused", mode(*version)),
            Self::WrongCertificate(version) => {
                write!(f, "{}, a certificate of another authority is refused", mode(*version))
            }
            Self::NoCommonSuite(version) => write!(f, "{}, no common suite is refused", mode(*version)),
            Self::NoCommonEspSuite(version) => {
                write!(f, "{}, no common suite for the child is refused", mode(*version))
            }
            Self::Ipv6(version) => write!(f, "{}, IPv6 outside", mode(*version)),
        }
    }
}

const fn mode(version: IkeVersion) -> &'static str {
    match version {
        IkeVersion::V1Aggressive => "aggressive mode",
        IkeVersion::V1Main | IkeVersion::V2 => "main mode",
    }
}

const fn proof(auth: Auth) -> &'static str {
    match auth {
        Auth::Certificate => "RSA-2048 certificates",
        Auth::RawKey => "RSA-2048 raw keys",
        Auth::Psk | Auth::Eap(_) => "PSK",
    }
}
