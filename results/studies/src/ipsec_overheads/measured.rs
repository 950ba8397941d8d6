//! The measurements, queried in the paper's terms.

use super::published::{Operation, Phase, What};
use super::{Cipher, Way};
use crate::doubtful::Doubtful;
use crate::{Basis, Figure, Material};
use keytoll_analysis::profile::{
    Column, Estimate, Line, NodeTotal, PacketColumn, Packets, Profile, Skeleton,
};

/// The gateway is the paper's server, the device its client.
const SERVER: &str = "gw";
const CLIENT: &str = "ue";

#[derive(Debug, Clone, Copy)]
pub(super) struct Measured<'a>(pub(super) &'a Material<'a>);

/// A median of this run, in the unit of the estimate times `factor`.
pub(super) fn figure(estimate: &Estimate, factor: f64) -> Figure {
    Figure::of_median(estimate.median().times(factor))
}

/// A number of this run that was derived from medians.
pub(super) fn plain(value: f64) -> Figure {
    Figure::of_run(Basis::Measured, value, None)
}

impl<'a> Measured<'a> {
    fn profile(self, way: Way) -> Option<&'a Profile> {
        self.0.supplement.profiles.iter().find(|profile| profile.method == way.method())
    }

    /// The column of a cipher, and its index.
    fn column(self, way: Way, cipher: Cipher) -> Option<(usize, &'a Column)> {
        let columns = self.profile(way)?.columns.iter().enumerate();
        { columns }.find(|(_, column)| column.suite.starts_with(cipher.prefix()))
    }

    fn node(self, way: Way, cipher: Cipher, node: &str) -> Option<&'a NodeTotal> {
        self.column(way, cipher)?.1.node(node)
    }

    /// All cryptography at the server.
    pub(super) fn server_crypto_ms(self, way: Way, cipher: Cipher) -> Option<&'a Estimate> {
        Some(&self.node(way, cipher, SERVER)?.crypto_ms)
    }

    /// All cryptography at the client.
    pub(super) fn client_crypto_ms(self, cipher: Cipher) -> Option<&'a Estimate> {
        Some(&self.node(Way::MainRsa, cipher, CLIENT)?.crypto_ms)
    }

    /// The share of cryptography in both ends' time, in per cent.
    pub(super) fn crypto_percent(self, way: Way, cipher: Cipher) -> Option<Doubtful> {
        let ends = [self.node(way, cipher, SERVER)?, self.node(way, cipher, CLIENT)?];
        let sum = |of: fn(&NodeTotal) -> &Estimate| {
            let [server, client] = ends.map(|node| Doubtful::from(of(node)));
            server.plus(client)
        };
        Some(sum(|node| &node.crypto_ms).per(sum(|node| &node.total_ms)).times(100.0))
    }

    pub(super) fn skeleton(self, way: Way, cipher: Cipher) -> Option<&'a Skeleton> {
        self.column(way, cipher)?.1.skeleton.as_ref()
    }

    /// Both ends together: they work in lock-step.
    pub(super) fn total_ms(self, way: Way, cipher: Cipher) -> Option<&'a Estimate> {
        Some(&self.skeleton(way, cipher)?.all.full_ms)
    }

    /// One line of Table 1 at the server, in milliseconds.
    pub(super) fn operation(self, way: Way, cipher: Cipher, what: What) -> Option<Doubtful> {
        let (place, _) = self.column(way, cipher)?;
        let lines = self.profile(way)?.lines.iter().filter(|line| is_of(line, what));
        let costs = lines.filter_map(|line| Some(Doubtful::from(&line.cells.get(place)?.as_ref()?.ms)));
        costs.reduce(Doubtful::plus)
    }

    /// The lines of Table 1 together, in milliseconds.
    pub(super) fn operations_added_ms(self, cipher: Cipher, operations: &[Operation]) -> Option<Doubtful> {
        let each = operations.iter().map(|operation| self.operation(Way::MainRsa, cipher, operation.what));
        each.collect::<Option<Vec<_>>>()?.into_iter().reduce(Doubtful::plus)
    }

    pub(super) fn packets(self) -> Option<&'a Packets> {
        self.0.supplement.packets.as_ref()
    }

    pub(super) fn packet(self, cipher: Cipher) -> Option<&'a PacketColumn> {
        self.packets()?.columns.iter().find(|column| column.suite.starts_with(cipher.prefix()))
    }

    /// The share of cryptography in what ESP adds to the native processing, in per cent.
    pub(super) fn esp_crypto_percent(self, cipher: Cipher) -> Option<Doubtful> {
        let (column, native_us) = (self.packet(cipher)?, &self.packets()?.native_us);
        let [crypto, full, native] =
            [&column.crypto_us, &column.full.total_us, native_us].map(Doubtful::from);
        Some(crypto.per(full.less(native)).times(100.0))
    }
}

/// Whether a line of a profile belongs to a line of Table 1.
fn is_of(line: &Line, what: What) -> bool {
    let (phase, words): (Phase, &[&str]) = match what {
        What::Agreement(phase) => (phase, &["D-H generation", "D-H agreement"]),
        What::Keys | What::Hashes => (Phase::One, &["PRF"]),
        What::Decryption(phase) => (phase, &["decryption"]),
        What::Encryption(phase) => (phase, &["encryption"]),
        What::Verification => (Phase::One, &["signature check"]),
        What::Signature => (Phase::One, &["signature"]),
        What::HashesAndKeys => (Phase::Two, &["PRF"]),
    };
    let prefix = match phase {
        Phase::One => "P1",
        Phase::Two => "P2",
    };
    let in_phase = match what {
        What::Keys => line.phase == "sa-init",
        What::Hashes => line.phase == "auth",
        _ => true,
    };
    line.message.starts_with(prefix) && words.contains(&&*line.operation) && in_phase
}
