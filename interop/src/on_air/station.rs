//! Our station before somebody else's access point.

use keytoll_crypto_api::Seed;
use keytoll_engine::{Ctx, Engine, Input, Output, Time};
use keytoll_net::Addr;
use keytoll_wlan::MacAddr;
use keytoll_wlan::station::{Command, Config, Event, Station};

use super::{Kind, METHOD, Network, OnAir, Pings, Report, USER};
use crate::eap_sides::{PeerSide, peer_config};

/// A station that joins, exchanges echoes, and leaves.
pub struct StationOnAir {
    own: MacAddr,
    engine: Station,
    eap: Option<PeerSide>,
    pings: Pings,
    report: Report,
    is_over: bool,
}

impl StationOnAir {
    /// A station that joins this network.
    pub fn new(own: MacAddr, network: &Network, pings: Pings) -> Self {
        let config = Config::new(own, network.ssid(), network.kind.security(), network.pmk());
        let config = Config { password: network.password(), ..config };
        let has_eap = network.kind == Kind::Wpa2Eap;
        let eap = has_eap.then(|| PeerSide::new(peer_config(METHOD, USER, &network.secret, None), USER));
        let engine = Station::new(config, &Seed::system().expect("the system has randomness"), "station");
        Self { own, engine, eap, pings, report: Report::default(), is_over: false }
    }

    fn on_event(&mut self, event: Event, cx: &mut Ctx<'_>) {
        match event {
            Event::EapStart => self.eap.iter_mut().for_each(PeerSide::begin),
            Event::Eap(packet) => {
                let answer = self.eap.as_mut().and_then(|eap| eap.answer(&packet, cx));
                if let Some((eap, _)) = answer {
                    self.engine.handle(Input::Command(Command::Eap(eap)), cx);
                }
            }
            Event::Joined(_) => {
                self.report.events.push("joined".to_owned());
                self.pings.begin(cx.now);
            }
            Event::Failed(why) => self.end(format!("failed: {why}")),
            Event::Left(why) => self.end(format!("left: {why}")),
        }
    }

    fn end(&mut self, how: String) {
        self.report.events.push(how);
        self.is_over = true;
    }

    fn hear_packet(&mut self, packet: &[u8], cx: &mut Ctx<'_>) {
        if self.pings.hear(packet) && self.pings.is_done() && !self.is_over {
            self.report.events.push(self.pings.told());
            self.engine.handle(Input::Command(Command::Leave), cx);
        }
    }
}

impl OnAir for StationOnAir {
    fn begin(&mut self, cx: &mut Ctx<'_>) {
        self.engine.handle(Input::Command(Command::Join), cx);
    }

    fn hear(&mut self, frame: &[u8], cx: &mut Ctx<'_>) {
        let (from, to) = (Addr::Mac([0; 6]), Addr::Mac(self.own));
        self.engine.handle(Input::Datagram { from, to, bytes: frame }, cx);
    }

    fn tick(&mut self, cx: &mut Ctx<'_>) {
        self.engine.handle(Input::Tick, cx);
        if let Some(packet) = self.pings.due(cx.now) {
            self.engine.handle(Input::Inner(&packet), cx);
        }
    }

    fn poll(&mut self, cx: &mut Ctx<'_>) -> Option<Vec<u8>> {
        loop {
            match self.engine.poll()? {
                Output::Datagram(frame) => return Some(frame.bytes),
                Output::Inner(packet) => self.hear_packet(&packet, cx),
                Output::Event(event) => self.on_event(event, cx),
                Output::Close { .. } => {}
            }
        }
    }

    fn deadline(&self) -> Option<Time> {
        let engine = self.engine.deadline().map(|deadline| deadline.at);
        [engine, self.pings.deadline()].into_iter().flatten().min()
    }

    fn report(&self) -> &Report {
        &self.report
    }

    fn is_done(&self) -> bool {
        self.is_over
    }
}
