//! keytoll and strongSwan as device and gateway, in either order: one vocabulary for what the two do to each other, so
//! that every test of IKEv2 is written once.

use std::fmt;
use std::time::Duration;

use keytoll_daemons::charon::IkeVersion;

use crate::charon::Charon;
use crate::ikev2::{Direction, Kind};
use crate::lab::{Lab, Node};
use crate::peer::Peer;
use crate::pki::Pki;
use crate::run::{Trouble, wait_for};
use crate::status::{ChildSa, IkeSa};
use crate::swanctl::Terms;

/// How long a probe may take, the wait for it included.
const LIMIT: Duration = Duration::from_secs(20);

/// An echo as ESP counts it: 20 bytes of IP header, 8 of ICMP, 56 of data.
const ECHO_BYTES: u64 = 84;

/// Which end of an IKE SA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The initiator.
    Device,
    /// The responder.
    Gateway,
}

/// Both ends.
#[derive(Debug)]
pub struct Pair<'a> {
    direction: Direction,
    lab: &'a Lab,
    program: &'a str,
    keytoll: Option<Peer>,
    charon: Option<Charon>,
}

impl<'a> Pair<'a> {
    /// Starts the gateway, then the device, each with its own terms.
    pub fn start(
        direction: Direction,
        lab: &'a Lab,
        program: &'a str,
        terms: [&Terms; 2],
        pki: Option<&Pki>,
    ) -> Result<Self, Trouble> {
        Self::start_each(direction, lab, program, terms.map(|terms| (terms, pki)))
    }

    /// The same with certificates of its own for each.
    pub fn start_each(
        direction: Direction,
        lab: &'a Lab,
        program: &'a str,
        [(device, device_pki), (gateway, gateway_pki)]: [(&Terms, Option<&Pki>); 2],
    ) -> Result<Self, Trouble> {
        let keytoll = match device.version {
            IkeVersion::V2 => Peer::start,
            IkeVersion::V1Main | IkeVersion::V1Aggressive => Peer::captured,
        };
        let (keytoll, charon) = match direction {
            Direction::KeytollDevice => {
                let charon = Charon::start(lab, Node::Gw, gateway, gateway_pki)?;
                (keytoll(lab, Node::Ue, program, device, device_pki)?, charon)
            }
            Direction::CharonDevice => {
                let keytoll = keytoll(lab, Node::Gw, program, gateway, gateway_pki)?;
                (keytoll, Charon::start(lab, Node::Ue, device, device_pki)?)
            }
        };
        Ok(Self { direction, lab, program, keytoll: Some(keytoll), charon: Some(charon) })
    }

    /// strongSwan.
    ///
    /// # Panics
    /// When it was killed.
    pub fn charon(&self) -> &Charon {
        self.charon.as_ref().expect("strongSwan was not killed")
    }

    fn keytoll(&mut self) -> &mut Peer {
        self.keytoll.as_mut().expect("keytoll was not killed")
    }

    /// Sets up IKE and CHILD SA and sends an echo through; gives where the gateway saw the device.
    pub fn connect(&mut self) -> Result<String, Trouble> {
        match self.direction {
            Direction::KeytollDevice => self.keytoll().say("echo")?,
            Direction::CharonDevice => drop(self.charon().initiate()?),
        }
        let established = self.keytoll().expect("established")?;
        match self.direction {
            Direction::KeytollDevice => drop(self.keytoll().expect("echo-reply")?),
            Direction::CharonDevice => drop(self.lab.ping(Node::Ue, None, Node::Gw.inner(), 1)?),
        }
        self.expect_one_child(ECHO_BYTES)?;
        Ok(self.device_as_seen(established))
    }

    /// The same with IKEv1. There the initiator of quick mode may send at once, before the responder has heard the last
    /// message: what overtakes it is lost, so that the echo that counts is sent when strongSwan is ready.
    pub fn connect_v1(&mut self) -> Result<String, Trouble> {
        match self.direction {
            Direction::KeytollDevice => self.keytoll().say("echo")?,
            Direction::CharonDevice => drop(self.charon().initiate()?),
        }
        let established = self.keytoll().expect("established")?;
        self.keytoll().expect("child-up")?;
        self.await_child("one child", |_| true)?;
        self.traffic()?;
        let used = |child: &ChildSa| child.bytes_in >= ECHO_BYTES && child.bytes_out >= ECHO_BYTES;
        self.await_child("packets both ways", used)?;
        Ok(self.device_as_seen(established))
    }

    /// strongSwan has one IKE SA with one child, and that is as it should be.
    fn await_child(&self, what: &str, is_good: impl Fn(&ChildSa) -> bool) -> Result<(), Trouble> {
        self.charon()
            .await_sas(what, |sas| {
                let [sa] = sas else { return false };
                let [child] = sa.children.as_slice() else { return false };
                (sa.state.as_str(), child.state.as_str()) == ("ESTABLISHED", "INSTALLED") && is_good(child)
            })
            .map(drop)
    }

    /// Where the gateway sees the device; `established` is what keytoll told.
    fn device_as_seen(&self, established: String) -> String {
        match self.direction {
            Direction::KeytollDevice => self.seen_by_charon(),
            Direction::CharonDevice => established,
        }
    }

    /// The newest line of its log about where a packet came from: `received packet: from 10.99.1.253[5361] to …`, in the
    /// notation that we use.
    fn seen_by_charon(&self) -> String {
        let log = self.charon().log();
        let line = log.lines().rfind(|line| line.contains("received packet: from")).unwrap_or_default();
        let from = line.split(" to ").next().unwrap_or_default();
        from.replace('[', ":").replace(']', "")
    }

    /// strongSwan has one IKE SA with one child, through which so many bytes went each way.
    fn expect_one_child(&self, bytes: u64) -> Result<(), Trouble> {
        self.await_child("one child, used both ways", |child| {
            (child.bytes_in, child.bytes_out) == (bytes, bytes)
        })
    }

    /// Sets up an IKE SA without a child.
    pub fn connect_childless(&mut self) -> Result<(), Trouble> {
        match self.direction {
            Direction::KeytollDevice => {
                self.keytoll().say("echo")?;
                self.keytoll().expect("usable")?;
            }
            Direction::CharonDevice => {
                self.charon().initiate_ike()?;
                self.keytoll().expect("established")?;
            }
        }
        let sas = self.charon().list_sas()?;
        assert!(sas.len() == 1 && sas[0].state == "ESTABLISHED" && sas[0].children.is_empty(), "{sas:?}");
        Ok(())
    }

    /// One more echo, whatever happened before.
    pub fn traffic(&mut self) -> Result<(), Trouble> {
        match self.direction {
            Direction::KeytollDevice => {
                self.keytoll().say("echo")?;
                self.keytoll().expect("echo-reply").map(drop)
            }
            Direction::CharonDevice => self.lab.ping(Node::Ue, None, Node::Gw.inner(), 1).map(drop),
        }
    }

    fn is_keytoll(&self, role: Role) -> bool {
        (self.direction == Direction::KeytollDevice) == (role == Role::Device)
    }

    /// One side wants new keys; afterwards there is one IKE SA with one child, and of a new child no packet has gone
    /// through.
    pub fn rekey(&mut self, kind: Kind, by: Role) -> Result<(), Trouble> {
        let is_ike = kind == Kind::Ike;
        if self.is_keytoll(by) {
            self.keytoll().say(if is_ike { "rekey-ike" } else { "rekey-child" })?;
        } else {
            self.charon().rekey(is_ike)?;
        }
        self.keytoll().expect(if is_ike { "rekeyed" } else { "child-rekeyed" })?;
        self.expect_one_child(if is_ike { ECHO_BYTES } else { 0 })
    }

    /// One side wants new keys for the child of IKEv1: quick mode once more.
    pub fn rekey_child_v1(&mut self, by: Role) -> Result<(), Trouble> {
        if self.is_keytoll(by) {
            self.keytoll().say("rekey-child")?;
        } else {
            self.charon().rekey(false)?;
        }
        self.keytoll().expect("child-rekeyed")?;
        let is_new = |child: &ChildSa| child.state == "INSTALLED" && child.bytes_in + child.bytes_out == 0;
        self.charon().await_sas("a new child", |sas| sas.iter().flat_map(|sa| &sa.children).any(is_new))?;
        // keytoll deletes the old one that it has replaced only when the peer was heard on the new one.
        self.traffic()?;
        self.await_child("one child, used by strongSwan", |child| child.bytes_out == ECHO_BYTES)
    }

    /// One side wants a new ISAKMP SA; afterwards the child is under it. What strongSwan has replaced itself it keeps for a
    /// while, without children.
    pub fn reauthenticate(&mut self, by: Role) -> Result<(), Trouble> {
        if self.is_keytoll(by) {
            self.keytoll().say("rekey-ike")?;
        } else {
            self.charon().rekey(true)?;
        }
        // strongSwan's DELETE of the old one comes after ten seconds.
        self.keytoll().expect("rekeyed")?;
        let taken_over = |sas: &[IkeSa]| {
            let (old, new): (Vec<_>, Vec<_>) = sas.iter().partition(|sa| sa.state == "REKEYING");
            let is_good = |sa: &&IkeSa| sa.state == "ESTABLISHED" && sa.children.len() == 1;
            new.len() == 1 && new.iter().all(is_good) && old.iter().all(|sa| sa.children.is_empty())
        };
        self.charon().await_sas("a new ISAKMP SA with the child", taken_over).map(drop)
    }

    /// Sets up both SAs, however long it takes, and sends nothing through.
    pub fn set_up(&mut self) -> Result<(), Trouble> {
        match self.direction {
            Direction::KeytollDevice => self.keytoll().say("echo")?,
            Direction::CharonDevice => drop(self.charon().initiate()?),
        }
        self.keytoll().expect("child-up")?;
        self.await_child("one child", |_| true)
    }

    /// The device tries and is refused; neither side keeps anything.
    pub fn expect_refused(&mut self) -> Result<(), Trouble> {
        self.refused()?;
        self.charon().await_sas("nothing left", <[_]>::is_empty).map(drop)
    }

    /// The same where strongSwan as a device tries again and again until it is told to stop.
    pub fn expect_refused_always(&mut self) -> Result<(), Trouble> {
        self.refused()?;
        if self.direction == Direction::CharonDevice {
            // Once more, so that no attempt is cut off in the middle.
            self.keytoll().expect("failed")?;
            self.keytoll().expect("failed")?;
            self.charon().terminate()?;
        }
        self.charon().await_sas("nothing left", <[_]>::is_empty).map(drop)
    }

    fn refused(&mut self) -> Result<(), Trouble> {
        match self.direction {
            Direction::KeytollDevice => {
                self.keytoll().say("echo")?;
                self.keytoll().expect("failed").map(drop)
            }
            Direction::CharonDevice => {
                let initiated = self.charon().initiate();
                assert!(initiated.is_err(), "strongSwan was let in: {initiated:?}");
                Ok(())
            }
        }
    }

    /// The device is let in, but its child is refused.
    pub fn expect_child_refused(&mut self) -> Result<(), Trouble> {
        match self.direction {
            Direction::KeytollDevice => {
                self.keytoll().say("echo")?;
                self.keytoll().expect("established")?;
                self.keytoll().expect("failed child").map(drop)
            }
            Direction::CharonDevice => {
                let initiated = self.charon().initiate();
                assert!(initiated.is_err(), "strongSwan has a child: {initiated:?}");
                Ok(())
            }
        }
    }

    /// The device tries and keytoll, whichever side it is, will not go on; gives what it says.
    pub fn refused_by_keytoll(&mut self) -> Result<String, Trouble> {
        match self.direction {
            Direction::KeytollDevice => self.keytoll().say("echo")?,
            Direction::CharonDevice => drop(self.charon().initiate()),
        }
        self.keytoll().expect("failed")
    }

    /// One side closes the IKE SA; the other knows.
    pub fn delete(&mut self, by: Role) -> Result<(), Trouble> {
        if self.is_keytoll(by) {
            self.keytoll().say("delete")?;
        } else {
            self.charon().terminate()?;
        }
        self.keytoll().expect("closed deleted")?;
        self.charon().await_sas("the delete", <[_]>::is_empty).map(drop)
    }

    /// The device says something in IKE, so that the gateway hears where it is.
    pub fn probe_by_device(&mut self) -> Result<(), Trouble> {
        match self.direction {
            Direction::KeytollDevice => {
                let before = self.informational();
                self.keytoll().say("probe")?;
                self.await_informational(before)
            }
            // It does so every second by itself.
            Direction::CharonDevice => self.await_informational(self.informational()),
        }
    }

    /// kernel-libipsec cannot send elsewhere through an SA, so that strongSwan as gateway replaces the child of a device that
    /// has moved; what arrives meanwhile is lost.
    pub fn await_moved_child(&mut self) -> Result<(), Trouble> {
        match self.direction {
            Direction::KeytollDevice => self.keytoll().expect("child-down").map(drop),
            Direction::CharonDevice => Ok(()),
        }
    }

    /// How many INFORMATIONAL messages strongSwan has got.
    fn informational(&self) -> usize {
        self.charon().log().matches("parsed INFORMATIONAL").count()
    }

    fn await_informational(&self, before: usize) -> Result<(), Trouble> {
        let more = || (self.informational() > before).then_some(());
        wait_for("an INFORMATIONAL exchange", LIMIT, more, || self.charon().log())
    }

    /// How often IKE_SA_INIT was sent by the device.
    pub fn expect_sa_inits(&mut self, count: usize) -> Result<(), Trouble> {
        let sent = match self.direction {
            Direction::KeytollDevice => self.keytoll().traced("sent IKE_SA_INIT request"),
            Direction::CharonDevice => self.charon().log().matches("generating IKE_SA_INIT request").count(),
        };
        assert_eq!(sent, count, "IKE_SA_INIT requests");
        Ok(())
    }

    /// At a strongSwan gateway another device that never goes on; it stays until dropped. At ours nobody.
    pub fn half_open(&self, terms: &Terms) -> Result<Option<Peer>, Trouble> {
        if self.direction == Direction::CharonDevice {
            return Ok(None);
        }
        // Where nobody listens its IKE_AUTH is lost.
        let terms = Terms { keytoll: "gateway_nat_port = 9", ..*terms };
        let mut other = Peer::second_device(self.lab, self.program, &terms)?;
        other.say("echo")?;
        self.charon().await_sas("a half-open SA", |sas| sas.len() == 1)?;
        Ok(Some(other))
    }

    /// Ends one side as a power cut would.
    pub fn kill(&mut self, role: Role) {
        if self.is_keytoll(role) {
            if let Some(keytoll) = self.keytoll.take() {
                keytoll.kill();
            }
        } else {
            self.charon = None;
        }
    }

    /// The side that survived a [`Self::kill`] forgets the other.
    pub fn expect_forgotten(&mut self, killed: Role) -> Result<(), Trouble> {
        if self.is_keytoll(killed) {
            self.charon().await_sas("nobody any more", <[_]>::is_empty).map(drop)
        } else {
            self.keytoll().expect("closed timeout").map(drop)
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Device => "device",
            Self::Gateway => "gateway",
        })
    }
}
