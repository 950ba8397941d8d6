//! ryke as the device of a gateway of ours.

use super::program::{Ryke, credential, word};
use super::{ESP, Feature, IKE, aggressive, certified, plain, with_eap};
use crate::eap::{PASSWORD, USER};
use crate::ikev2::Kind;
use crate::lab::{Lab, NAT_OUTSIDE, Node};
use crate::node_file;
use crate::pair::Role;
use crate::peer::Peer;
use crate::pki::{KeyKind, Pki};
use crate::run::Trouble;
use crate::swanctl::{SECRET, Terms};

/// What ryke logs if each echo was answered.
const ECHOES: &str = "echo: 5 of 5 answered";

/// Where the device is tried.
pub(super) struct Stage<'a> {
    pub(super) lab: &'a Lab,
    pub(super) program: &'a str,
}

impl Stage<'_> {
    pub(super) fn run(&self, feature: Feature) -> Result<(), Trouble> {
        match feature {
            Feature::WithoutNatDetection => self.without_nat_detection(),
            Feature::Psk("x25519") => self.echoes(&plain(), &with_secret(&["echo"])),
            Feature::Psk(group) => {
                let terms = Terms { ike: "aes256gcm16-prfsha256-modp2048", ..plain() };
                self.echoes(&terms, &[with_secret(&["echo"]), vec![word("group", group)]].concat())
            }
            Feature::Certificates(length) => self.certificates(length, None),
            Feature::Mschapv2(kind) => self.mschapv2(kind, PASSWORD),
            Feature::NoAddress => {
                self.refused(&Terms::psk(IKE, ESP), &with_secret(&[]), "failed child FAILED_CP_REQUIRED")
            }
            Feature::Liveness(Role::Device) => self.requests(
                &["probe", "repeat"],
                &["probe: answered at the new port", "repeat: the same response"],
            ),
            Feature::Liveness(Role::Gateway) => {
                self.served("probe", &["serve"], &["probe of the peer answered"]).map(drop)
            }
            Feature::Rekey(_, Role::Device) => {
                self.requests(&["rekey", "echo"], &["rekey: new CHILD SA", ECHOES])
            }
            Feature::Rekey(kind, Role::Gateway) => self.rekey_by_gateway(kind),
            Feature::Delete(Role::Device) => {
                self.requests(&["echo", "delete"], &[ECHOES, "delete: answered at the new port"])
            }
            Feature::Delete(Role::Gateway) => self
                .served("delete", &["serve"], &["deleted by the peer"])?
                .expect("closed deleted")
                .map(drop),
            Feature::Cookie => {
                self.echoes(&Terms { keytoll: "cookies = \"always\"", ..plain() }, &with_secret(&["echo"]))
            }
            Feature::OtherGroup => {
                let ike = "aes256gcm16-prfsha256-ecp256,aes256gcm16-prfsha256-modp2048";
                self.echoes(&Terms { ike, ..plain() }, &with_secret(&["echo"]))
            }
            Feature::WrongSecret => {
                let arguments = [word("psk", "another"), word("mode", 4500)];
                self.refused(&plain(), &arguments, "failed AUTHENTICATION_FAILED")
            }
            Feature::WrongPassword => self.mschapv2(KeyKind::EcdsaP256, "wrong"),
            Feature::WrongCertificate => {
                let other = Pki::make(&self.lab.dir(Node::Aaa), KeyKind::EcdsaP256)?;
                self.certificates(2, Some(&other))
            }
            Feature::NoCommonSuite => {
                let terms = Terms { ike: "aes128gcm16-prfsha256-x25519", ..plain() };
                self.refused(&terms, &with_secret(&[]), "proposal-refused")
            }
            Feature::Nat => self.nat(),
            Feature::AggressiveMode => self.aggressive_mode(),
            Feature::NamedGateway | Feature::AssignedAddress | Feature::Eap5g => {
                unreachable!("it is not offered")
            }
        }
    }

    fn gateway(&self, terms: &Terms, pki: Option<&Pki>) -> Result<Peer, Trouble> {
        Peer::start(self.lab, Node::Gw, self.program, terms, pki)
    }

    /// Runs the device to its end and returns its log.
    fn device(&self, arguments: &[String]) -> Result<String, Trouble> {
        Ryke::device(self.lab, arguments)?.ended()
    }

    /// The device connects and has an answer to each of five echoes.
    fn echoes(&self, terms: &Terms, arguments: &[String]) -> Result<(), Trouble> {
        let mut gateway = self.gateway(terms, None)?;
        expect_lines(&self.device(arguments)?, &[ECHOES]);
        gateway.expect("established").map(drop)
    }

    fn nat(&self) -> Result<(), Trouble> {
        self.lab.insert_nat()?;
        let mut gateway = self.gateway(&plain(), None)?;
        expect_lines(&self.device(&with_secret(&["echo"]))?, &[ECHOES]);
        let established = gateway.expect("established")?;
        assert!(established.contains(&NAT_OUTSIDE.to_string()), "{established}");
        Ok(())
    }

    /// ryke's echo requests arrive. The replies would be ESP directly on IP, which a node does not send.
    fn aggressive_mode(&self) -> Result<(), Trouble> {
        let mut gateway = self.gateway(&aggressive(), None)?;
        let arguments = [word("psk", SECRET), word("version", 1)];
        expect_lines(&self.device(&arguments)?, &["established by aggressive mode"]);
        gateway.expect("established with ue@lab")?;
        gateway.expect("child-up")?;
        let refused = gateway.traced("directly on IP needs a raw socket");
        assert_eq!(refused, 5, "answers to five echoes: {}", gateway.last_words());
        Ok(())
    }

    /// ESP comes from the port of IKE, or, as in ryke's own example `ike_client`, from another one.
    fn without_nat_detection(&self) -> Result<(), Trouble> {
        for esp in ["same", "another"] {
            let words = [word("psk", SECRET), word("esp", esp), "echo".to_owned(), "delete".to_owned()];
            self.echoes(&plain(), &words)?;
        }
        Ok(())
    }

    /// Steps with IKE at port 500 and with IKE at port 4500, and the lines that the device logs.
    fn requests(&self, steps: &[&str], lines: &[&str]) -> Result<(), Trouble> {
        let mut gateway = self.gateway(&plain(), None)?;
        for mode in [500, 4500] {
            // The later `mode` counts.
            let words = [with_secret(steps), vec![word("mode", mode), word("esp", "same")]].concat();
            expect_lines(&self.device(&words)?, lines);
            gateway.expect("established")?;
            if steps.contains(&"delete") {
                gateway.expect("closed deleted")?;
            }
        }
        Ok(())
    }

    /// The gateway obeys a command when the device has had its first echoes answered; then the device takes these steps.
    fn served(&self, command: &str, steps: &[&str], lines: &[&str]) -> Result<Peer, Trouble> {
        let mut gateway = self.gateway(&plain(), None)?;
        let ryke = Ryke::device(self.lab, &with_secret(&[&["echo"], steps].concat()))?;
        ryke.expect(ECHOES, 1)?;
        gateway.say(command)?;
        expect_lines(&ryke.ended()?, lines);
        Ok(gateway)
    }

    /// The request for new keys is followed by one that deletes the old SA.
    fn rekey_by_gateway(&self, kind: Kind) -> Result<(), Trouble> {
        let steps = ["serve", "serve", "echo"];
        let (command, lines, told) = match kind {
            Kind::Child => (
                "rekey-child",
                ["new CHILD SA, wanted by the peer", "CHILD SA deleted by the peer"],
                "child-rekeyed",
            ),
            Kind::Ike => ("rekey-ike", ["new IKE SA, wanted by the peer", "deleted by the peer"], "rekeyed"),
        };
        let mut gateway = self.served(command, &steps, &lines)?;
        gateway.expect(told)?;
        let answered = self.lab.log(Node::Ue).matches(ECHOES).count();
        assert_eq!(answered, 2, "echoes before and after: {}", self.lab.log(Node::Ue));
        Ok(())
    }

    /// The device fails, and keytoll reports the reason.
    fn refused(&self, terms: &Terms, arguments: &[String], told: &str) -> Result<(), Trouble> {
        let mut gateway = self.gateway(terms, None)?;
        let tried = self.device(arguments);
        assert!(tried.is_err(), "ryke was let in: {tried:?}");
        gateway.expect(told).map(drop)
    }

    /// With certificates of one authority, or the device with one of another authority.
    fn certificates(&self, length: usize, other: Option<&Pki>) -> Result<(), Trouble> {
        let pki = Pki::make_chains(self.lab.shared_dir(), KeyKind::EcdsaP256, length)?;
        // The gateway's own certificate is good in both cases.
        let trusting = pki.trusting(other.unwrap_or(&pki));
        let spot = self.lab.spot(Node::Gw);
        let text = node_file::text(Node::Gw, &spot.address(), &certified(), Some(&trusting));
        let text = text.replace("connection.peer = \"ue@lab\"", "connection.peer = \"ue.lab\"");
        let mut gateway = Peer::of_file(&spot, self.program, &text)?;
        let names = vec![word("id", "ue.lab"), word("peer", Node::Gw.id()), word("mode", 4500)];
        let tried = self.device(&[credential(&pki, Node::Ue)?, names, vec!["echo".to_owned()]].concat());
        if other.is_some() {
            assert!(tried.is_err(), "ryke was let in: {tried:?}");
            return gateway.expect("failed").map(drop);
        }
        expect_lines(&tried?, &[ECHOES]);
        gateway.expect("established with ue.lab").map(drop)
    }

    fn mschapv2(&self, kind: KeyKind, password: &'static str) -> Result<(), Trouble> {
        let pki = Pki::make(self.lab.shared_dir(), kind)?;
        let terms = with_eap(PASSWORD);
        let _aaa = Peer::start(self.lab, Node::Aaa, self.program, &terms, Some(&pki))?;
        let mut gateway = self.gateway(&terms, Some(&pki))?;
        let login = vec![word("user", USER), word("password", password), word("peer", Node::Gw.id())];
        let steps = vec![word("mode", 4500), "echo".to_owned()];
        let tried = self.device(&[credential(&pki, Node::Ue)?, login, steps].concat());
        if password != PASSWORD {
            // ryke does not answer MSCHAPv2's Failure, so that the gateway waits for it.
            let ended = tried.err().map(|why| why.to_string()).unwrap_or_default();
            assert!(ended.contains("EAP failed"), "{ended}");
            assert_eq!(gateway.traced("established"), 0, "ryke was let in");
            return Ok(());
        }
        expect_lines(&tried?, &[ECHOES]);
        gateway.expect("established with ue@lab").map(drop)
    }
}

/// The shared key, IKE and ESP at port 4500, and steps.
fn with_secret(steps: &[&str]) -> Vec<String> {
    let steps = steps.iter().map(|step| (*step).to_owned());
    [word("psk", SECRET), word("mode", 4500)].into_iter().chain(steps).collect()
}

/// A line of the log begins with each of these.
fn expect_lines(logged: &str, lines: &[&str]) {
    for line in lines {
        assert!(logged.lines().any(|found| found.starts_with(line)), "no {line:?} in {logged}");
    }
}
