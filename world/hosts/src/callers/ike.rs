//! Devices of IKE behind few addresses: one endpoint for each address holds the SAs of all its devices, which differ in identity
//! and credentials. Traffic SAs are negotiated and their keys dropped: nothing is sent through them. RFC 7296 §1.2, §2.16.

use std::collections::VecDeque;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use keytoll_crypto_api::{Rng, Seed};
use keytoll_engine::map::FastMap;
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output};
use keytoll_ike::config::{Believe, Connection};
use keytoll_ike::{Command as Request, Config, Endpoint, Event as Report, SaId};

use super::{Call, Callers, Command, Credentials, DeviceIndex, Event, stream};
use crate::eap::{Carrier, Eap};
use crate::supplicant::{EapCredentials, Supplicant};

/// A device: its terms in place of those that all share, and its EAP.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// Identity and proof; `None`: those of the endpoint's first connection.
    pub connection: Option<Arc<Connection>>,
    /// Its credentials, if it proves itself with EAP.
    pub eap: Option<EapCredentials>,
}

/// The devices of all addresses.
pub struct IkeCallers {
    ends: Vec<End>,
    devices: Credentials<Terms>,
    gateway: IpAddr,
    is_childless: bool,
    proves_server: bool,
    calls: FastMap<u64, Held>,
    /// The call of each SA.
    of_sa: FastMap<u64, Call>,
    rng: Rng,
    out: VecDeque<Output<Event>>,
}

/// One address.
#[derive(Debug)]
struct End {
    local: IpAddr,
    ike: Endpoint,
    /// SAs that we have asked the gateway to close: they are there until it has answered, or was asked in vain.
    leaving: Vec<SaId>,
}

/// A call with its SA.
#[derive(Debug)]
struct Held {
    end: u32,
    sa: SaId,
    standing: Standing,
}

/// How far a call is.
#[derive(Debug)]
enum Standing {
    /// Under way, with its EAP conversation if there is one.
    UnderWay(Option<Box<Supplicant>>),
    /// Its SAs are up.
    Usable,
    /// It asked to close its SA.
    Leaving,
}

/// The gateway closed an SA in an orderly way, unasked.
const DELETED: &str = "deleted by the gateway";

impl IkeCallers {
    /// Devices at each of these addresses, with the endpoint of each, calling a gateway; random streams are named `{name}/…`.
    /// The first connection of every endpoint is what their terms are made from.
    pub fn new(
        ends: Vec<(IpAddr, Config)>,
        gateway: IpAddr,
        devices: Credentials<Terms>,
        seed: &Seed,
        name: &str,
    ) -> Self {
        let first = ends.first().and_then(|(_, config)| config.connections.first());
        Self {
            is_childless: first.is_none_or(|connection| connection.child.is_none()),
            proves_server: first.is_some_and(|connection| !matches!(connection.remote, Believe::Eap)),
            ends: ends
                .into_iter()
                .enumerate()
                .map(|(n, (local, config))| End {
                    local,
                    ike: Endpoint::new(config, seed, &format!("{name}/{n}")),
                    leaving: Vec::new(),
                })
                .collect(),
            devices,
            gateway,
            calls: FastMap::default(),
            of_sa: FastMap::default(),
            rng: seed.stream(&format!("{name}/eap")),
            out: VecDeque::new(),
        }
    }

    fn begin(&mut self, call: Call, device: DeviceIndex, cx: &mut Ctx<'_>) {
        let Terms { connection, eap } = (self.devices)(device);
        let supplicant = eap.map(|credentials| {
            let carrier = Carrier { proves_server: self.proves_server, ..Carrier::IKE };
            let mut supplicant = Supplicant::new(credentials, carrier, stream(&mut self.rng));
            // RFC 7296 §2.16: the gateway may take IDi for the EAP identity.
            supplicant.begin(connection.as_ref().map(|connection| &*connection.local_id.data));
            Box::new(supplicant)
        });
        let end = (call.0 % self.ends.len() as u64) as usize;
        let End { local, ike, .. } = &mut self.ends[end];
        let sa = ike.initiate_as(0, connection, (*local, self.gateway), cx);
        match sa {
            Some(sa) => {
                let standing = Standing::UnderWay(supplicant);
                self.calls.insert(call.0, Held { end: end as u32, sa, standing });
                self.of_sa.insert(sa.0, call);
            }
            None => self.out.push_back(Output::Event(Event::Failed(call, "no such connection"))),
        }
    }

    fn leave(&mut self, call: Call, cx: &mut Ctx<'_>) {
        let Some(held) = self.calls.get_mut(&call.0) else {
            return self.out.push_back(Output::Event(Event::Ended(call, None)));
        };
        let (end, sa) = (held.end as usize, held.sa);
        let is_usable = matches!(held.standing, Standing::Usable);
        held.standing = Standing::Leaving;
        let End { ike, leaving, .. } = &mut self.ends[end];
        ike.abandon(sa);
        if !ike.is_over(sa) {
            leaving.push(sa);
            ike.handle(Input::Command(Request::Delete(sa)), cx);
        } else {
            debug_assert!(!is_usable, "an SA that is up is not given up");
            self.end(sa, None);
        }
    }

    /// A call is over.
    fn end(&mut self, sa: SaId, why: Option<&'static str>) {
        if let Some(call) = self.forget(sa) {
            self.out.push_back(Output::Event(Event::Ended(call, why)));
        }
    }

    fn forget(&mut self, sa: SaId) -> Option<Call> {
        let call = self.of_sa.remove(&sa.0)?;
        self.calls.remove(&call.0);
        Some(call)
    }

    fn held(&mut self, sa: SaId) -> Option<(Call, &mut Held)> {
        let call = *self.of_sa.get(&sa.0)?;
        self.calls.get_mut(&call.0).map(|held| (call, held))
    }

    fn drain(&mut self, cx: &mut Ctx<'_>) {
        for end in 0..self.ends.len() {
            while let Some(output) = self.ends[end].ike.poll() {
                match output.event() {
                    Ok(report) => self.on_report(end, report, cx),
                    Err(output) => self.out.push_back(output),
                }
            }
            self.end_those_that_left(end);
        }
    }

    /// A call is over when its SA is gone, and not when that was asked for: the question may be lost, or meet nobody.
    fn end_those_that_left(&mut self, end: usize) {
        let End { ike, leaving, .. } = &mut self.ends[end];
        let gone: Vec<SaId> = leaving.extract_if(.., |sa| ike.is_over(*sa)).collect();
        gone.into_iter().for_each(|sa| self.end(sa, None));
    }

    fn on_report(&mut self, end: usize, report: Report, cx: &mut Ctx<'_>) {
        match report {
            Report::Established(established) if self.is_childless => self.usable(established.sa),
            Report::ChildUp(sa, _) => self.usable(sa),
            Report::ChildFailed(sa, why) => self.childless_after_all(end, sa, why.name(), cx),
            Report::Failed(sa, why, _) => self.failed(sa, why.name()),
            Report::Closed(sa, why) => self.closed(sa, why),
            Report::Rekeyed { old, new } => self.renamed(old, new),
            Report::EapPacket(sa, packet) => self.on_eap(end, sa, &packet, cx),
            Report::Established(_)
            | Report::ChildRekeyed { .. }
            | Report::ChildDown(..)
            | Report::ProposalRefused(_)
            | Report::EapStart { .. }
            | Report::ReauthenticationDue(_) => {}
        }
    }

    fn usable(&mut self, sa: SaId) {
        let Some((call, held)) = self.held(sa) else { return };
        if matches!(held.standing, Standing::UnderWay(_)) {
            held.standing = Standing::Usable;
            self.out.push_back(Output::Event(Event::Usable(call)));
        }
    }

    /// The IKE SA is there, and useless: it is closed, and the call has failed.
    fn childless_after_all(&mut self, end: usize, sa: SaId, why: &'static str, cx: &mut Ctx<'_>) {
        let is_under_way = |held: &Held| matches!(held.standing, Standing::UnderWay(_));
        if self.held(sa).is_some_and(|(_, held)| is_under_way(held)) {
            self.failed(sa, why);
            self.ends[end].ike.handle(Input::Command(Request::Delete(sa)), cx);
        }
    }

    /// EAP knows the reason of a failure better than its carrier.
    fn failed(&mut self, sa: SaId, why: &'static str) {
        let Some((_, held)) = self.held(sa) else { return };
        let known = match &mut held.standing {
            Standing::UnderWay(Some(supplicant)) => supplicant.failure(),
            Standing::UnderWay(None) | Standing::Usable => None,
            Standing::Leaving => return,
        };
        let why = known.map_or(why, |reason| reason.0);
        if let Some(call) = self.forget(sa) {
            self.out.push_back(Output::Event(Event::Failed(call, why)));
        }
    }

    fn closed(&mut self, sa: SaId, why: keytoll_ike::Reason) {
        let Some((_, held)) = self.held(sa) else { return };
        let why = if why == keytoll_ike::Reason::Deleted { DELETED } else { why.name() };
        match &held.standing {
            Standing::UnderWay(_) => self.failed(sa, why),
            Standing::Usable => self.end(sa, Some(why)),
            // Until its SA is gone.
            Standing::Leaving => {}
        }
    }

    fn renamed(&mut self, old: SaId, new: SaId) {
        let Some(call) = self.of_sa.remove(&old.0) else { return };
        self.of_sa.insert(new.0, call);
        let Some(held) = self.calls.get_mut(&call.0) else { return };
        held.sa = new;
        let leaving = &mut self.ends[held.end as usize].leaving;
        leaving.iter_mut().filter(|sa| **sa == old).for_each(|sa| *sa = new);
    }

    fn on_eap(&mut self, end: usize, sa: SaId, packet: &[u8], cx: &mut Ctx<'_>) {
        let answer = match self.held(sa).map(|(_, held)| &mut held.standing) {
            Some(Standing::UnderWay(Some(supplicant))) => supplicant.step(packet, cx),
            _ => Some(Eap::Failure { packet: Vec::new() }),
        };
        if let Some(answer) = answer {
            self.ends[end].ike.handle(Input::Command(Request::Eap(sa, answer.into())), cx);
        }
    }

    /// The endpoint that a datagram is for, by the address that it was sent to.
    fn end_at(&mut self, to: keytoll_net::Addr) -> Option<&mut End> {
        let ip = to.ip()?;
        self.ends.iter_mut().find(|end| end.local == ip)
    }
}

impl Callers for IkeCallers {
    fn sessions(&self) -> Option<&'static str> {
        Some("IKE SAs")
    }

    fn hearsay(&self, call: Call) -> Option<&'static str> {
        let held = self.calls.get(&call.0)?;
        self.ends[held.end as usize].ike.refusal(held.sa).map(keytoll_ike::Reason::name)
    }
}

impl Engine for IkeCallers {
    type Command = Command;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Command>, cx: &mut Ctx<'_>) {
        match input {
            Input::Command(Command::Begin(call, device)) => self.begin(call, device, cx),
            Input::Command(Command::Leave(call)) => self.leave(call, cx),
            Input::Datagram { from, to, bytes } => {
                if let Some(end) = self.end_at(to) {
                    end.ike.handle(Input::Datagram { from, to, bytes }, cx);
                }
            }
            Input::Tick => self.ends.iter_mut().for_each(|end| end.ike.handle(Input::Tick, cx)),
            Input::Recover => self.ends.iter_mut().for_each(|end| end.ike.handle(Input::Recover, cx)),
            // IKE uses datagrams only, and nothing is forwarded.
            Input::Inner(_) | Input::Secured { .. } | Input::Lost { .. } => {}
        }
        self.drain(cx);
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        self.ends.iter().filter_map(|end| end.ike.deadline()).min()
    }
}

impl fmt::Debug for IkeCallers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IkeCallers").field("calls", &self.calls.len()).finish_non_exhaustive()
    }
}
