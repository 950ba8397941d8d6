//! libreswan's pluto at both ends. It runs on a kernel without ESP (`interop/libreswan/no-esp.c`), and its cryptography is timed at the
//! functions of NSS that it calls (`interop/libreswan/nss-time.c`).

use std::thread::sleep;
use std::time::{Duration, Instant};

use keytoll_daemons::Pluto;
use keytoll_interop::{Lab, Node, Pki, Terms, libreswan};

use super::trial::Pair;
use crate::trouble::Result;

/// Timeout of a start.
const LIMIT: Duration = Duration::from_secs(20);
/// Time between two looks into its log.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Both ends.
pub(super) struct Libreswan {
    device: Pluto,
    gateway: Pluto,
}

/// Writes the configurations of both ends.
pub(super) fn configure(lab: &Lab, terms: &Terms, pki: Option<&Pki>) -> Result<()> {
    for node in [Node::Gw, Node::Ue] {
        Pluto::configure(&lab.dir(node), &libreswan::config(node, terms, pki, &[]))?;
    }
    Ok(())
}

impl Libreswan {
    /// Starts the gateway, then the device, and waits until each listens and has loaded the connection.
    pub(super) fn start(lab: &Lab) -> Result<Self> {
        let gateway = start(lab, Node::Gw)?;
        Ok(Self { device: start(lab, Node::Ue)?, gateway })
    }
}

fn start(lab: &Lab, node: Node) -> Result<Pluto> {
    let (pluto, begun) = (Pluto::launch(&lab.place(node), &lab.dir(node), true)?, Instant::now());
    while !pluto.is_listening() {
        if begun.elapsed() > LIMIT {
            return Err(format!("pluto does not listen: {}", pluto.log()).into());
        }
        sleep(LOOK_EVERY);
    }
    pluto.load()?;
    Ok(pluto)
}

impl Pair for Libreswan {
    fn ids(&self) -> [u32; 2] {
        [self.device.id(), self.gateway.id()]
    }

    fn crypto_ns(&self) -> Result<u64> {
        let both: Option<u64> = [&self.device, &self.gateway].into_iter().map(Pluto::crypto_ns).sum();
        Ok(both.ok_or("pluto's timer has written nothing")?)
    }

    fn connect(&mut self) -> Result<()> {
        Ok(self.device.connect()?)
    }

    fn terminate(&mut self) -> Result<()> {
        Ok(self.device.terminate()?)
    }

    fn stop(&mut self) -> Result<()> {
        self.device.shut_down()?;
        Ok(self.gateway.shut_down()?)
    }
}
