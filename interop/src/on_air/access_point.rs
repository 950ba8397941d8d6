//! Our access point before somebody else's station.

use std::time::Duration;

use keytoll_crypto_api::Seed;
use keytoll_engine::{Ctx, Engine, Input, Output, Time};
use keytoll_net::Addr;
use keytoll_wlan::MacAddr;
use keytoll_wlan::access_point::{AccessPoint, BEACON_INTERVAL_TU, Command, Config, Event};

use super::{Kind, METHOD, Network, OnAir, Pings, Report, USER};
use crate::eap_sides::{ServerSide, server_config};

/// 802.11-2020 §3.1 (time unit): 1024 microseconds.
const BEACON_INTERVAL: Duration = Duration::from_micros(1024 * BEACON_INTERVAL_TU as u64);

/// An access point that admits a station, exchanges echoes with it, and sends it away.
pub struct AccessPointOnAir {
    own: MacAddr,
    engine: AccessPoint,
    eap: Option<ServerSide>,
    pings: Pings,
    member: Option<MacAddr>,
    beacon_at: Time,
    out: Vec<Vec<u8>>,
    report: Report,
    is_over: bool,
}

impl AccessPointOnAir {
    /// An access point of this network.
    pub fn new(own: MacAddr, network: &Network, pings: Pings) -> Self {
        let config = Config::new(own, network.ssid(), network.kind.security(), network.pmk());
        let config = Config { password: network.password(), ..config };
        let has_eap = network.kind == Kind::Wpa2Eap;
        let eap = has_eap.then(|| ServerSide::new(server_config(METHOD, USER, &network.secret, None)));
        let engine = AccessPoint::new(config, &Seed::system().expect("the system has randomness"), "ap");
        Self {
            own,
            engine,
            eap,
            pings,
            member: None,
            beacon_at: Time::ZERO,
            out: Vec::new(),
            report: Report::default(),
            is_over: false,
        }
    }

    fn on_event(&mut self, event: Event, cx: &mut Ctx<'_>) {
        match event {
            Event::EapStart(station) => {
                let begun = self.eap.as_mut().and_then(|eap| eap.begin(station, cx));
                self.say(station, begun, cx);
            }
            Event::Eap(station, packet) => {
                let answer = self.eap.as_mut().and_then(|eap| eap.answer(station, &packet, cx));
                self.say(station, answer, cx);
            }
            Event::Joined(station) => {
                self.report.events.push("joined".to_owned());
                self.member = Some(station);
                self.pings.begin(cx.now);
            }
            Event::Ended(station, why) => {
                self.eap.iter_mut().for_each(|eap| eap.forget(station));
                self.report.events.push(format!("ended: {why}"));
                self.is_over = true;
            }
            Event::Packet(station, packet) => {
                if self.pings.hear(&packet) && self.pings.is_done() {
                    self.report.events.push(self.pings.told());
                    self.engine.handle(Input::Command(Command::Disconnect(station)), cx);
                }
            }
        }
    }

    fn say(&mut self, station: MacAddr, eap: Option<keytoll_wlan::dot1x::Eap>, cx: &mut Ctx<'_>) {
        if let Some(eap) = eap {
            self.engine.handle(Input::Command(Command::Eap(station, eap)), cx);
        }
    }
}

impl OnAir for AccessPointOnAir {
    fn begin(&mut self, cx: &mut Ctx<'_>) {
        self.tick(cx);
    }

    fn hear(&mut self, frame: &[u8], cx: &mut Ctx<'_>) {
        let (from, to) = (Addr::Mac([0; 6]), Addr::Mac(self.own));
        self.engine.handle(Input::Datagram { from, to, bytes: frame }, cx);
    }

    fn tick(&mut self, cx: &mut Ctx<'_>) {
        self.engine.handle(Input::Tick, cx);
        if cx.now >= self.beacon_at {
            self.beacon_at = cx.now + BEACON_INTERVAL;
            self.out.push(self.engine.beacon(cx).bytes);
        }
        if let (Some(station), Some(packet)) = (self.member, self.pings.due(cx.now)) {
            let frame = self.engine.send(station, &packet, cx);
            self.out.extend(frame.map(|frame| frame.bytes));
        }
    }

    fn poll(&mut self, cx: &mut Ctx<'_>) -> Option<Vec<u8>> {
        if let Some(frame) = self.out.pop() {
            return Some(frame);
        }
        loop {
            match self.engine.poll()? {
                Output::Datagram(frame) => return Some(frame.bytes),
                Output::Event(event) => self.on_event(event, cx),
                Output::Inner(_) | Output::Close { .. } => {}
            }
        }
    }

    fn deadline(&self) -> Option<Time> {
        let engine = self.engine.deadline().map(|deadline| deadline.at);
        [engine, self.pings.deadline(), Some(self.beacon_at)].into_iter().flatten().min()
    }

    fn report(&self) -> &Report {
        &self.report
    }

    fn is_done(&self) -> bool {
        self.is_over
    }
}
