//! keytoll as the device of a gateway by ryke.

use super::program::{Ryke, credential, word};
use super::{ESP, Feature, IKE, aggressive, certified, plain, quick, with_eap};
use crate::eap::{PASSWORD, USER};
use crate::ikev2::Kind;
use crate::lab::{Lab, NAT_OUTSIDE, Node};
use crate::node_file;
use crate::pair::Role;
use crate::peer::Peer;
use crate::pki::{KeyKind, Pki};
use crate::run::Trouble;
use crate::swanctl::{SECRET, Terms};

/// The address that the gateway assigns.
const ASSIGNED: &str = "10.98.3.7";

/// Where the device is tried.
pub(super) struct Stage<'a> {
    pub(super) lab: &'a Lab,
    pub(super) program: &'a str,
}

impl Stage<'_> {
    pub(super) fn run(&self, feature: Feature) -> Result<(), Trouble> {
        match feature {
            Feature::WithoutNatDetection => self.connected(&plain(), &[word("mode", 500)])?.echoes(5),
            Feature::Psk("x25519") => self.connected(&plain(), &[])?.echoes(5),
            Feature::Psk(_) => {
                let ike = "aes256gcm16-prfsha256-modp2048";
                self.connected(&Terms { ike, ..plain() }, &[])?.echoes(5)
            }
            Feature::NamedGateway => {
                self.begun(&quick(), None, &[word("psk", SECRET)], true)?.connected().map(drop)
            }
            Feature::Certificates(length) => self.certificates(length, None)?.connected()?.echoes(5),
            Feature::Mschapv2(kind) => self.mschapv2(kind, PASSWORD)?.connected()?.echoes(5),
            Feature::AssignedAddress => self.assigned_address(),
            Feature::Liveness(by) => self.liveness(by),
            Feature::Rekey(kind, by) => self.rekey(kind, by),
            Feature::Delete(by) => self.delete(by),
            Feature::Cookie => self.connected_after("wants a cookie", &plain(), &["cookie".to_owned()]),
            Feature::OtherGroup => {
                let ike = "aes256gcm16-prfsha256-ecp256,aes256gcm16-prfsha256-x25519";
                self.connected_after("wants group 31", &Terms { ike, ..plain() }, &[])
            }
            Feature::WrongSecret => {
                self.begun(&quick(), None, &[word("psk", "another")], false)?.refused("AUTHENTICATION_FAILED")
            }
            Feature::WrongPassword => {
                self.mschapv2(KeyKind::EcdsaP256, "wrong")?.refused("AUTHENTICATION_FAILED")
            }
            Feature::WrongCertificate => {
                let other = Pki::make(&self.lab.dir(Node::Aaa), KeyKind::EcdsaP256)?;
                self.certificates(2, Some(&other))?.refused("AUTHENTICATION_FAILED")
            }
            Feature::NoCommonSuite => {
                let terms = Terms { ike: "aes128gcm16-prfsha256-x25519", ..quick() };
                self.begun(&terms, None, &[word("psk", SECRET)], false)?.refused("NO_PROPOSAL_CHOSEN")
            }
            Feature::Nat => {
                self.lab.insert_nat()?;
                let terms = Terms { keytoll: "encapsulation = \"auto\"", ..plain() };
                let mut pair = self.connected(&terms, &[])?;
                pair.ryke.expect(&format!("device at {NAT_OUTSIDE}:"), 1)?;
                pair.echoes(5)
            }
            Feature::Eap5g => self.eap_5g(),
            Feature::AggressiveMode => {
                let arguments = [word("psk", SECRET), word("version", 1)];
                self.begun(&aggressive(), None, &arguments, true)?.connected().map(drop)
            }
            Feature::NoAddress => unreachable!("it is not offered"),
        }
    }

    /// The gateway listens, and the device has begun.
    fn begun(
        &self,
        terms: &Terms,
        pki: Option<&Pki>,
        arguments: &[String],
        names_gateway: bool,
    ) -> Result<Pair, Trouble> {
        let ryke = Ryke::gateway(self.lab, arguments)?;
        let spot = self.lab.spot(Node::Ue);
        let text = node_file::text(Node::Ue, &spot.address(), terms, pki);
        let is_kept = |line: &&str| names_gateway || !line.starts_with("connection.peer =");
        let text: Vec<_> = text.lines().filter(is_kept).collect();
        let mut keytoll = Peer::of_file(&spot, self.program, &(text.join("\n") + "\n"))?;
        keytoll.say("echo")?;
        Ok(Pair { ryke, keytoll, echoes: 0 })
    }

    /// With a shared key.
    fn connected(&self, terms: &Terms, arguments: &[String]) -> Result<Pair, Trouble> {
        let arguments = [&[word("psk", SECRET)], arguments].concat();
        self.begun(terms, None, &arguments, false)?.connected()
    }

    /// The gateway wants something first.
    fn connected_after(&self, logged: &str, terms: &Terms, arguments: &[String]) -> Result<(), Trouble> {
        let mut pair = self.connected(terms, arguments)?;
        pair.ryke.expect(logged, 1)?;
        pair.echoes(5)
    }

    /// With certificates of one authority, or the device with one of another authority.
    fn certificates(&self, length: usize, other: Option<&Pki>) -> Result<Pair, Trouble> {
        let pki = Pki::make_chains(self.lab.shared_dir(), KeyKind::EcdsaP256, length)?;
        let terms = Terms { keytoll: quick().keytoll, own_id: Some("ue.lab"), ..certified() };
        // The gateway's own certificate is good in both cases.
        let device = other.unwrap_or(&pki).trusting(&pki);
        let arguments = [credential(&pki, Node::Gw)?, vec![word("peer", "ue.lab")]].concat();
        self.begun(&terms, Some(&device), &arguments, false)
    }

    fn mschapv2(&self, kind: KeyKind, password: &'static str) -> Result<Pair, Trouble> {
        let pki = Pki::make(self.lab.shared_dir(), kind)?;
        let login = vec![word("user", USER), word("password", PASSWORD)];
        let arguments = [credential(&pki, Node::Gw)?, login].concat();
        self.begun(&with_eap(password), Some(&pki), &arguments, true)
    }

    fn assigned_address(&self) -> Result<(), Trouble> {
        let arguments = [word("psk", SECRET), word("assigned", ASSIGNED)];
        let mut pair = self.begun(&Terms::psk(IKE, ESP), None, &arguments, false)?;
        let established = pair.keytoll.expect("established")?;
        assert!(established.contains(&format!("address {ASSIGNED}")), "{established}");
        pair.keytoll.expect("echo-reply")?;
        pair.echoes = 1;
        pair.echoes(4)
    }

    fn liveness(&self, by: Role) -> Result<(), Trouble> {
        let mut pair = self.connected(&plain(), &[])?;
        pair.obey(by, "probe", ["probe of the peer answered", "probe: answered at the new port"])
    }

    fn rekey(&self, kind: Kind, by: Role) -> Result<(), Trouble> {
        let mut pair = self.connected(&plain(), &[])?;
        match kind {
            Kind::Child => {
                pair.obey(
                    by,
                    if by == Role::Device { "rekey-child" } else { "rekey" },
                    ["CHILD SA deleted by the peer", "delete of the old CHILD SA: answered at the new port"],
                )?;
                pair.keytoll.expect("child-rekeyed")?;
            }
            Kind::Ike => {
                pair.obey(by, "rekey-ike", ["deleted by the peer", ""])?;
                pair.keytoll.expect("rekeyed")?;
            }
        }
        pair.echoes(5)
    }

    fn delete(&self, by: Role) -> Result<(), Trouble> {
        let mut pair = self.connected(&plain(), &[])?;
        pair.obey(by, "delete", ["deleted by the peer", "delete: answered at the new port"])?;
        pair.keytoll.expect("closed deleted").map(drop)
    }

    /// An N3IWF has no other method, so that the device ends at once.
    fn eap_5g(&self) -> Result<(), Trouble> {
        let pki = Pki::make(self.lab.shared_dir(), KeyKind::EcdsaP256)?;
        let arguments = credential(&pki, Node::Gw)?;
        let mut pair = self.begun(&with_eap(PASSWORD), Some(&pki), &arguments, true)?;
        pair.ryke.expect("asks for EAP-5G", 1)?;
        pair.keytoll.expect("failed EAP failure")?;
        let why = "EAP method not supported: EAP-5G (type 254, vendor 10415, method 3)";
        assert!(pair.keytoll.traced(why) > 0, "{}", pair.keytoll.last_words());
        pair.ryke.expect("INFORMATIONAL of the peer answered", 1)
    }
}

/// Both sides of an IKE SA.
struct Pair {
    ryke: Ryke,
    keytoll: Peer,
    /// Echoes that were answered.
    echoes: usize,
}

impl Pair {
    /// The device has an SA, and its first echo was answered.
    fn connected(mut self) -> Result<Self, Trouble> {
        let established = self.keytoll.expect("established")?;
        assert!(established.contains(Node::Gw.id()), "{established}");
        self.keytoll.expect("echo-reply")?;
        self.echoes = 1;
        Ok(self)
    }

    /// So many more echoes are answered.
    fn echoes(&mut self, count: usize) -> Result<(), Trouble> {
        for _ in 0..count {
            self.keytoll.say("echo")?;
            self.keytoll.expect("echo-reply")?;
        }
        self.echoes += count;
        self.ryke.expect("echo answered", self.echoes)
    }

    /// One side obeys a command; ryke logs the first line if it is the device, the second if it is the gateway.
    fn obey(&mut self, by: Role, command: &str, logged: [&str; 2]) -> Result<(), Trouble> {
        let [by_device, by_gateway] = logged;
        match by {
            Role::Device => {
                self.keytoll.say(command)?;
                self.ryke.expect(by_device, 1)
            }
            Role::Gateway => {
                self.ryke.say(command)?;
                self.ryke.expect(by_gateway, 1)
            }
        }
    }

    /// The device fails for this reason, which ryke logs, too.
    fn refused(mut self, why: &str) -> Result<(), Trouble> {
        let failed = self.keytoll.expect("failed")?;
        assert!(failed.contains(why), "{failed}");
        self.ryke.expect("refused", 1)
    }
}
