//! keytoll's gateway and device, which are this very program.

use keytoll_interop::{Lab, Node, Peer, Pki, Terms};

use super::trial::Pair;
use crate::trouble::Result;

/// Both ends.
pub(super) struct Keytoll {
    device: Peer,
    gateway: Peer,
}

impl Keytoll {
    /// Starts the gateway, then the device, and waits until each listens.
    pub(super) fn start(lab: &Lab, terms: &Terms, pki: Option<&Pki>) -> Result<Self> {
        let own = std::env::current_exe()?;
        let start = |node| Peer::metered(lab, node, &own.to_string_lossy(), terms, pki);
        let gateway = start(Node::Gw)?;
        Ok(Self { device: start(Node::Ue)?, gateway })
    }
}

impl Pair for Keytoll {
    fn ids(&self) -> [u32; 2] {
        [self.device.id(), self.gateway.id()]
    }

    fn crypto_ns(&self) -> Result<u64> {
        let both: Option<u64> = [&self.device, &self.gateway].into_iter().map(Peer::crypto_ns).sum();
        Ok(both.ok_or("keytoll has written no metrics")?)
    }

    fn connect(&mut self) -> Result<()> {
        self.device.say("echo")?;
        self.device.expect("child-up")?;
        self.gateway.expect("child-up")?;
        Ok(())
    }

    fn terminate(&mut self) -> Result<()> {
        self.device.say("delete")?;
        self.device.expect("closed")?;
        self.gateway.expect("closed")?;
        Ok(())
    }

    fn stop(&mut self) -> Result<()> {
        self.device.say("quit")?;
        self.gateway.say("quit")?;
        Ok(())
    }
}
