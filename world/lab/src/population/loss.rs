//! A gateway is lost with everything it knew, and at the same moment its devices' way leads to others. Those that were established do
//! not know yet: they ask, or authenticate anew, and are told by nobody. What was under way fails.
//!
//! ```text
//!   lost --silence, retransmissions--> closed --Return--> attempt at another gateway --usable--> back
//!        '--authenticates anew------------------------------------------------------usable--> back
//! ```

use std::time::Duration;

use keytoll_hosts::Order;

use super::agenda::Errand;
use super::{Built, LINGERING};
use crate::row::ECHO_BYTES;

impl Built {
    /// The gateway of the scenario is lost.
    pub(super) fn lose_gateway(&mut self, at: Duration) {
        let Some(lost) = self.population.gateway_lost else { return };
        let number = lost.gateway - 1;
        self.gateways.lose(number);
        let devices = (0..).zip(&self.devices).filter_map(|(place, device)| Some((place, device.as_ref()?)));
        let of_it = devices.filter(|(_, device)| device.gateway == number).map(|(place, _)| place);
        let cut_off =
            of_it.collect::<Vec<usize>>().into_iter().filter(|place| self.cut_off(*place, at)).count();
        let Some(place) = self.serving.iter().position(|serving| serving.gateway == Some(number)) else {
            return;
        };
        let gone = self.serving.remove(place);
        self.world.remove_node(gone.index, &gone.neighbours, &gone.addresses);
        self.world.meter_mut().lose(gone.index);
        self.facts.lose(gone.index);
        self.facts.census.gateway_lost(at, &gone.name, cut_off as u64);
    }

    /// Leads a device to another gateway; returns whether it was established at the one that is lost.
    fn cut_off(&mut self, place: usize, at: Duration) -> bool {
        let Some(device) = &mut self.devices[place] else { return false };
        let to = &self.access[device.share].to;
        let index = self.whereabouts[device.number as usize].0.expect("a device that is there has a node");
        let (old, gateway) = (to[device.gateway as usize], self.gateways.of(device.address));
        device.gateway = gateway;
        self.world.share_link(index, to[gateway as usize], [index, old]);
        self.world.remove_link(index, old);
        let was_established = device.is_established;
        if was_established {
            device.is_cut_off = true;
            self.shares[device.share].left(at);
        }
        was_established
    }

    /// A device that has noticed begins anew, unless it does already.
    pub(super) fn begin_again(&mut self, number: u32, visit: u16, at: Duration) {
        let Some(index) = self.found(number, visit) else { return };
        let Some(device) = &mut self.devices[index.number() as usize] else { return };
        if device.is_leaving || device.intended.is_some() || device.is_established {
            return;
        }
        device.intended = Some(at);
        let census = &mut self.shares[device.share];
        census.offered(at);
        census.begun(at, at);
        self.world.command(index, Order::Echo { payload_bytes: ECHO_BYTES });
    }

    /// Plans when a device tries again that could not come back.
    pub(super) fn plan_return(&mut self, number: u32, at: Duration) {
        let (_, visit) = self.whereabouts[number as usize];
        self.agenda.plan(at + LINGERING, Errand::Return(number, visit));
    }

    /// An attempt has succeeded at a gateway, and perhaps its device was cut off before.
    pub(super) fn tell_gateway(&mut self, at: Duration, gateway: u32, is_back: bool) {
        if self.gateways.are_several() {
            self.facts.census.served(at, self.gateways.name(gateway));
        }
        if is_back {
            self.facts.census.back(at);
        }
    }
}
