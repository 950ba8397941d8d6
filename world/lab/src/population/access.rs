//! Devices on their access links: one of its own for each, or one that many share, to the gateway that each has.

use keytoll_sim::NodeIndex;

use super::{Access, Built};

impl Built {
    /// Connects a device to its gateway by an access link of its own, or by the one that it shares.
    pub(super) fn link(&mut self, index: NodeIndex, number: u32, (share, gateway): (usize, u32)) {
        let Access { config, to } = &self.access[share];
        let to = to[gateway as usize];
        let per_link = self.population.devices_per_link;
        if per_link == 1 {
            return self.world.add_link(index, to, config);
        }
        let place = (number / per_link) as usize;
        if self.lenders.len() <= place {
            self.lenders.resize_with(place + 1, Vec::new);
        }
        match self.lenders[place].first().and_then(|&lender| Some([lender, self.door_of(lender)?])) {
            Some(lender) => self.world.share_link(index, to, lender),
            None => self.world.add_link(index, to, config),
        }
        self.lenders[place].push(index);
    }

    /// The node at the other end of a device's access link.
    fn door_of(&self, index: NodeIndex) -> Option<NodeIndex> {
        let device = self.devices[index.number() as usize].as_ref()?;
        Some(self.access[device.share].to[device.gateway as usize])
    }

    /// Removes a device with its end of the link.
    pub(super) fn remove(&mut self, index: NodeIndex) {
        let Some(to) = self.door_of(index) else { return };
        let Some(device) = self.devices[index.number() as usize].take() else { return };
        self.world.remove_node(index, &[to], &[device.address]);
        self.whereabouts[device.number as usize].0 = None;
        self.there -= 1;
        if self.population.devices_per_link > 1 {
            let place = (device.number / self.population.devices_per_link) as usize;
            self.lenders[place].retain(|other| *other != index);
        }
    }
}
