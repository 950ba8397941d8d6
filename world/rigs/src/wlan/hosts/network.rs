//! The access points of one network, and what they say to each other over the distribution system between them (802.11-2020
//! §4.3.3), which is here a controller that runs them all: nothing is on a wire.

use std::collections::BTreeMap;

use keytoll_engine::{Addr, Ctx, Datagram, Deadline, Engine, Input, Output};
use keytoll_wlan::MacAddr;
use keytoll_wlan::access_point::{AccessPoint, Command, Event, ToOthers};

/// The access points of one network.
#[derive(Debug)]
pub(super) struct Network {
    /// Each with its address.
    access_points: Vec<(MacAddr, AccessPoint)>,
    /// The place of the access point that has last had to do with a station.
    serving: BTreeMap<MacAddr, usize>,
}

impl Network {
    /// At least one.
    pub(super) const fn new(access_points: Vec<(MacAddr, AccessPoint)>) -> Self {
        Self { access_points, serving: BTreeMap::new() }
    }

    fn engines(&self) -> impl Iterator<Item = &AccessPoint> {
        self.access_points.iter().map(|(_, engine)| engine)
    }

    /// The one that serves a station, or the first.
    fn serving(&mut self, station: MacAddr) -> Option<&mut AccessPoint> {
        let place = self.serving.get(&station).copied().unwrap_or_default();
        self.access_points.get_mut(place).map(|(_, engine)| engine)
    }

    /// Gives a frame to whom it is for.
    pub(super) fn hear(&mut self, from: Addr, to: Addr, bytes: &[u8], cx: &mut Ctx<'_>) {
        let is_alone = self.access_points.len() == 1;
        let is_for = |own: MacAddr| is_alone || to == Addr::Mac(own) || is_to_group(to);
        for (_, engine) in self.access_points.iter_mut().filter(|(own, _)| is_for(*own)) {
            engine.handle(Input::Datagram { from, to, bytes }, cx);
        }
    }

    pub(super) fn tick(&mut self, cx: &mut Ctx<'_>) {
        self.access_points.iter_mut().for_each(|(_, engine)| engine.handle(Input::Tick, cx));
    }

    /// A panic has interrupted one of them.
    pub(super) fn recover(&mut self, cx: &mut Ctx<'_>) {
        self.access_points.iter_mut().for_each(|(_, engine)| engine.handle(Input::Recover, cx));
    }

    /// Asks something of the access point that serves a station.
    pub(super) fn tell(&mut self, station: MacAddr, command: Command, cx: &mut Ctx<'_>) {
        if let Some(engine) = self.serving(station) {
            engine.handle(Input::Command(command), cx);
        }
    }

    /// The keys of the group change, at each.
    pub(super) fn change_group_keys(&mut self, cx: &mut Ctx<'_>) {
        for (_, engine) in &mut self.access_points {
            engine.handle(Input::Command(Command::ChangeGroupKeys), cx);
        }
    }

    /// The next output of any of them.
    pub(super) fn poll(&mut self, cx: &mut Ctx<'_>) -> Option<Output<Event>> {
        (0..self.access_points.len()).find_map(|place| self.poll_of(place, cx))
    }

    fn poll_of(&mut self, place: usize, cx: &mut Ctx<'_>) -> Option<Output<Event>> {
        loop {
            let (own, engine) = self.access_points.get_mut(place)?;
            // It says that a station has joined before it has another one forget it.
            if let Some(output) = engine.poll() {
                if self.concerns_owner(place, &output, cx) {
                    return Some(output);
                }
                continue;
            }
            let (own, said) = (*own, engine.poll_to_others()?);
            self.on_said(own, said, cx);
        }
    }

    fn on_said(&mut self, by: MacAddr, said: ToOthers, cx: &mut Ctx<'_>) {
        match said {
            ToOthers::CameFrom(station, from) => {
                if let Some(engine) = self.at(from) {
                    engine.handle(Input::Command(Command::Forget(station)), cx);
                }
            }
            ToOthers::Pull(pull) => {
                let holders = self.access_points.iter_mut().filter(|(own, _)| *own != by);
                let key = holders.map(|(_, engine)| engine.pmk_r1(&pull, cx)).find(Option::is_some).flatten();
                if let Some(engine) = self.at(by) {
                    engine.handle(Input::Command(Command::PmkR1(pull, key)), cx);
                }
            }
        }
    }

    fn at(&mut self, address: MacAddr) -> Option<&mut AccessPoint> {
        self.access_points.iter_mut().find(|(own, _)| *own == address).map(|(_, engine)| engine)
    }

    /// Whether the owner of the network wants to hear of it: not of the end of what a station has left behind elsewhere.
    fn concerns_owner(&mut self, place: usize, output: &Output<Event>, cx: &mut Ctx<'_>) -> bool {
        match output {
            Output::Event(Event::EapStart(station) | Event::Eap(station, _)) => {
                self.serving.insert(*station, place);
                true
            }
            Output::Event(Event::Joined(station)) => {
                self.serving.insert(*station, place);
                self.forget_elsewhere(place, *station, cx);
                true
            }
            Output::Event(Event::Ended(station, _)) => {
                let is_served_elsewhere = self.serving.get(station).is_some_and(|serving| *serving != place);
                if !is_served_elsewhere {
                    self.serving.remove(station);
                    self.forget_elsewhere(place, *station, cx);
                }
                !is_served_elsewhere
            }
            _ => true,
        }
    }

    fn forget_elsewhere(&mut self, place: usize, station: MacAddr, cx: &mut Ctx<'_>) {
        let others = self.access_points.iter_mut().enumerate().filter(|(at, _)| *at != place);
        for (_, (_, engine)) in others {
            engine.handle(Input::Command(Command::Forget(station)), cx);
        }
    }

    /// A packet in a frame to a station, from the access point that serves it.
    pub(super) fn send(&mut self, station: MacAddr, packet: &[u8], cx: &mut Ctx<'_>) -> Option<Datagram> {
        self.serving(station)?.send(station, packet, cx)
    }

    /// A packet in a frame to all stations, from the first access point that has any: a laboratory's stations are at one.
    pub(super) fn send_to_all(&mut self, packet: &[u8], cx: &mut Ctx<'_>) -> Option<Datagram> {
        let place = self.engines().position(|engine| engine.member_count() > 0).unwrap_or_default();
        self.access_points.get_mut(place)?.1.send_to_all(packet, cx)
    }

    /// How many stations are members, at whichever.
    pub(super) fn member_count(&self) -> usize {
        self.engines().map(AccessPoint::member_count).sum()
    }

    /// How many stations they know that are no members.
    pub(super) fn stranger_count(&self) -> usize {
        self.engines().map(AccessPoint::stranger_count).sum()
    }

    /// Whether a station is a member, at whichever.
    pub(super) fn is_member(&self, station: MacAddr) -> bool {
        self.engines().any(|engine| engine.is_member(station))
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        self.engines().filter_map(Engine::deadline).min()
    }
}

/// 802.11-2020 §9.2.2: the first bit on the air tells groups from stations.
const fn is_to_group(to: Addr) -> bool {
    matches!(to, Addr::Mac([first, ..]) if first & 1 == 1)
}
