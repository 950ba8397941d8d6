//! The access point: admits stations, has those with EAP judged, and answers echo requests.

use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::Seed;
use keytoll_engine::trace::{Fact, Protocol};
use keytoll_engine::{Addr, Ctx, Deadline, Engine, Input, Output};
use keytoll_hosts::event::{Failure, Naming};
use keytoll_hosts::user_plane::{Out, Responder, UserPlane};
use keytoll_hosts::{Eap, Event, Host, Order, Wanted};
use keytoll_wlan::MacAddr;
use keytoll_wlan::access_point::{self, Command, Ended, Event as WlanEvent};

use super::cell::Cell;
use super::judge::{Judge, Port};
use super::network::Network;
use super::reason::of_access_point;
use super::{Alarm, NAMING, address, closed, established, to_port, whole};

/// The configuration of an access point.
#[derive(Debug)]
pub(crate) struct AccessPointConfig {
    /// Its engine, and that of the network's other access point if there is one: one controller has both.
    pub wlan: Vec<access_point::Config>,
    /// Its IP address.
    pub address: IpAddr,
    /// Who decides about stations with EAP, in networks that want it.
    pub judge: Option<Judge>,
    /// How long a group key lasts.
    pub group_rekey: Option<Duration>,
    /// A member that is silent for so long has to leave.
    pub silence_max: Duration,
}

/// The access point.
#[derive(Debug)]
pub(crate) struct AccessPoint {
    user: UserPlane<Responder, Cell>,
    judge: Option<Judge>,
    /// When the keys of the group change: with members only.
    group_rekey: Option<Alarm>,
    out: Out,
}

impl AccessPoint {
    /// An access point whose random streams are named `{name}/…`.
    pub(crate) fn new(config: AccessPointConfig, seed: &Seed, name: &str) -> Self {
        let AccessPointConfig { wlan, address, judge, group_rekey, silence_max } = config;
        let names = [name.to_owned(), format!("{name}/2")];
        let access_points = wlan.into_iter().zip(&names);
        let engines = access_points
            .map(|(wlan, name)| (wlan.address, access_point::AccessPoint::new(wlan, seed, name)));
        let cell = Cell::new(Network::new(engines.collect()), silence_max);
        let responder = Responder::new(vec![address]);
        Self {
            user: UserPlane::over(cell, responder, seed.stream(&format!("{name}/user"))),
            judge,
            group_rekey: group_rekey.map(Alarm::new),
            out: Out::new(),
        }
    }

    const fn network(&mut self) -> &mut Network {
        &mut self.user.sas.network
    }

    fn disconnect(&mut self, station: MacAddr, cx: &mut Ctx<'_>) {
        self.network().tell(station, Command::Disconnect(station), cx);
    }

    fn on_order(&mut self, order: Order, cx: &mut Ctx<'_>) {
        if let Some(Order::Close(session)) = self.user.traffic(order, &mut self.out, cx) {
            self.disconnect(address(session), cx);
        }
    }

    fn arrived(&mut self, from: Addr, to: Addr, bytes: &[u8], cx: &mut Ctx<'_>) {
        let is_taken = self.judge.as_mut().is_some_and(|judge| judge.arrived(from, to, bytes, cx));
        if !is_taken {
            self.network().hear(from, to, bytes, cx);
        }
    }

    /// Processes the outputs of the engine and of the judge until neither has any more.
    fn drain(&mut self, cx: &mut Ctx<'_>) {
        loop {
            while let Some(output) = self.network().poll(cx) {
                match output.event() {
                    Ok(event) => self.on_event(event, cx),
                    Err(output) => self.out.push_back(output),
                }
            }
            let wanted = self.judge.as_mut().and_then(|judge| judge.poll(cx));
            let Some(wanted) = wanted else { break };
            self.act(wanted, cx);
        }
    }

    fn act(&mut self, wanted: Wanted<Port>, cx: &mut Ctx<'_>) {
        match wanted {
            Wanted::Pass(output) => self.out.push_back(output),
            Wanted::Tell(Port(station), eap) => {
                self.network().tell(station, Command::Eap(station, to_port(eap)), cx);
            }
        }
    }

    fn on_event(&mut self, event: WlanEvent, cx: &mut Ctx<'_>) {
        match event {
            WlanEvent::EapStart(station) => self.begin_eap(station, cx),
            WlanEvent::Eap(station, packet) => {
                let judge = self.judge.as_mut();
                let wanted = judge.and_then(|judge| judge.answered(Port(station), packet, cx));
                wanted.into_iter().for_each(|wanted| self.act(wanted, cx));
            }
            WlanEvent::Joined(station) => self.on_joined(station, cx),
            WlanEvent::Ended(station, why) => self.on_ended(station, &why, cx),
            WlanEvent::Packet(station, packet) => self.on_packet(station, packet, cx),
        }
    }

    fn begin_eap(&mut self, station: MacAddr, cx: &mut Ctx<'_>) {
        let wanted = match &mut self.judge {
            Some(judge) => judge.begin(Port(station), cx),
            None => {
                Some(Wanted::Tell(Port(station), Eap::Failure { packet: keytoll_eap::packet::failure(0) }))
            }
        };
        wanted.into_iter().for_each(|wanted| self.act(wanted, cx));
    }

    fn on_joined(&mut self, station: MacAddr, cx: &mut Ctx<'_>) {
        self.judge.iter_mut().for_each(|judge| judge.established(Port(station), cx));
        self.group_rekey.iter_mut().filter(|alarm| alarm.at.is_none()).for_each(|alarm| alarm.set(cx.now));
        let has_moved = self.user.sas.joined(station, cx.now);
        if !has_moved {
            self.out.push_back(Output::Event(established(station)));
        }
    }

    /// A timeout of the station is not recorded here: the station records it itself.
    fn on_ended(&mut self, station: MacAddr, why: &Ended, cx: &mut Ctx<'_>) {
        self.judge.iter_mut().for_each(|judge| judge.forget(Port(station), cx));
        let was_member = self.user.sas.forget(station);
        let why = of_access_point(why);
        let event = if was_member {
            closed(station, why, cx)
        } else {
            if !why.is_hearsay && why.name != keytoll_hosts::event::Reason::TIMEOUT.name {
                cx.trace.record(Fact::Failed { why: why.name.into() });
            }
            let session = Some(super::session(station));
            Event::Failed(Box::new(Failure { session, why, likely: None, peer: None }))
        };
        self.out.push_back(Output::Event(event));
    }

    fn on_packet(&mut self, station: MacAddr, packet: Vec<u8>, cx: &mut Ctx<'_>) {
        self.user.sas.heard(station, cx.now);
        let Some(packet) = whole(packet, cx) else { return };
        if self.user.sas.learns(station, packet.source) {
            self.user.deliver(packet, &mut self.out, cx);
        } else {
            cx.discard(Protocol::IP, "address of another station");
        }
    }

    fn tick(&mut self, cx: &mut Ctx<'_>) {
        self.network().tick(cx);
        self.user.tick(cx.now);
        self.judge.iter_mut().for_each(|judge| judge.tick(cx));
        while let Some(station) = self.user.sas.silent(cx.now) {
            self.disconnect(station, cx);
        }
        if self.group_rekey.as_mut().is_some_and(|alarm| alarm.is_due(cx.now)) {
            self.change_group_keys(cx);
        }
    }

    fn change_group_keys(&mut self, cx: &mut Ctx<'_>) {
        if self.network().member_count() == 0 {
            return;
        }
        cx.trace.record(Fact::Rekeyed { what: "group".into() });
        self.network().change_group_keys(cx);
        self.group_rekey.iter_mut().for_each(|alarm| alarm.set(cx.now));
    }

    fn conversation_count(&self) -> usize {
        self.judge.as_ref().map_or(0, Judge::conversation_count)
    }
}

impl Host for AccessPoint {
    fn naming(&self) -> Naming {
        NAMING
    }

    fn attach_interface(&mut self) {
        self.user.attach_interface();
    }

    fn holds(&self) -> Vec<(&'static str, usize)> {
        let network = &self.user.sas.network;
        vec![
            ("members", network.member_count()),
            ("stations without keys", network.stranger_count()),
            ("stations proving themselves", self.conversation_count()),
            ("RADIUS requests", self.judge.as_ref().map_or(0, Judge::outstanding)),
        ]
    }

    fn under_way_count(&self) -> usize {
        self.conversation_count()
    }
}

impl Engine for AccessPoint {
    type Command = Order;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Order>, cx: &mut Ctx<'_>) {
        match input {
            Input::Command(order) => self.on_order(order, cx),
            Input::Datagram { from, to, bytes } => self.arrived(from, to, bytes, cx),
            Input::Inner(packet) => self.user.forward(packet, &mut self.out, cx),
            Input::Tick => self.tick(cx),
            Input::Recover => self.network().recover(cx),
            // An access point has no streams.
            Input::Secured { .. } | Input::Lost { .. } => {}
        }
        self.drain(cx);
        if self.user.flush(&mut self.out, cx) {
            self.drain(cx);
        }
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        let judge = self.judge.as_ref().and_then(Judge::deadline);
        let group = self.group_rekey.and_then(|alarm| alarm.at);
        let group = group.map(|at| Deadline { at, why: "keys of the group" });
        let silence = self.user.sas.watches_at().map(|at| Deadline { at, why: "silence of a station" });
        let own = Deadline::earlier(group, silence);
        Deadline::earlier(Deadline::earlier(self.user.deadline(), judge), own)
    }
}
