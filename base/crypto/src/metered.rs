//! A meter around a provider: how often, how long and over how many bytes each operation ran, by phase of the protocol.
//! Optionally a journal of every single operation in the order in which they ran.

mod journal;
pub mod prices;
mod slot;
mod step;
mod work;

use std::borrow::Cow;
use std::sync::Arc;

use keytoll_crypto_api::algorithm::{
    BlockCipher, Curve, Encryption, Group, Hash, Integrity, KeyWrap, Prf, SignatureScheme, StreamCipher,
};
use keytoll_crypto_api::{
    Crypto, Digest, KeyPair, OnCurve, Part, Phase, PrivateKey, Rejected, Rng, Secret, SigningKey, TrafficKey,
};
use keytoll_native::{clock, heap};

use journal::{Entry, Journal};
use prices::{Place, Prices};
use slot::Slot;
use step::{Step, Timed};

pub use work::{Amount, Work};

/// A provider whose operations are all counted.
#[derive(Debug)]
pub struct Metered<C> {
    provider: C,
    timing: Timing,
    purpose: &'static str,
    /// One for every phase that was entered in a part, in that order.
    phases: Vec<PhaseSums>,
    /// The current part of the authentications.
    part: Part,
    /// Index of the current phase.
    current: usize,
    ticks_total: u64,
    /// The sum of a mark per operation, see [`Metered::work_total`].
    work_total: u64,
    kept: Kept,
    /// The first operation that the price table did not list.
    unpriced: Option<Place>,
}

/// The sums of one operation, or one entry of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The part of the authentications, see [`Metered::set_part`].
    pub part: Part,
    /// The phase of the protocol.
    pub phase: Phase,
    /// What it was for; empty if not set, and in sums.
    pub purpose: &'static str,
    /// The operation, e.g. `agree`.
    pub operation: &'static str,
    /// The algorithm, e.g. `x25519`.
    pub algorithm: Cow<'static, str>,
    /// How often.
    pub count: u64,
    /// Total ticks of [`clock::ticks`], without the meter's own; picoseconds if charged by a price table.
    pub ticks: u64,
    /// Bytes worked on in all.
    pub bytes: u64,
}

/// Whether the clock is read.
#[derive(Debug, Clone)]
enum Timing {
    /// The cost of reading it twice, which is subtracted.
    On {
        empty_ticks: u64,
    },
    Off,
    /// Prices of a table in place of the clock.
    Table(Arc<Prices>),
}

/// What is kept of operations besides sums.
#[derive(Debug)]
enum Kept {
    Nothing,
    Journal(Journal),
    Work(Work),
    Step(Step),
}

/// A phase with its sums, which are allocated at its first operation.
#[derive(Debug)]
struct PhaseSums {
    part: Part,
    phase: Phase,
    table: Option<Box<Table>>,
}

impl PhaseSums {
    fn sums_mut(&mut self, slot: usize) -> &mut Sums {
        &mut self.table.get_or_insert_with(|| apart(empty_table))[slot]
    }
}

/// Allocates memory of the meter itself, which belongs to the measuring program and not to the running node.
fn apart<T>(allocate: impl FnOnce() -> T) -> T {
    let _driver = heap::enter(heap::DRIVER);
    allocate()
}

/// Room for so many phases is reserved from the start, so that nothing allocates while measuring.
const PHASES: usize = 16;

/// The sums of one phase.
type Table = [Sums; Slot::COUNT];

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: u64,
    ticks: u64,
    bytes: u64,
}

impl<C> Metered<C> {
    /// Counts and times.
    pub fn new(provider: C) -> Self {
        Self::with(provider, Timing::On { empty_ticks: clock::empty_span_ticks() })
    }

    /// Counts only: for a provider whose operations are cheaper than reading the clock.
    pub fn count_only(provider: C) -> Self {
        Self::with(provider, Timing::Off)
    }

    fn with(provider: C, timing: Timing) -> Self {
        let mut phases = apart(|| Vec::with_capacity(PHASES));
        phases.push(PhaseSums { part: Part::default(), phase: Phase::SETUP, table: None });
        Self {
            provider,
            timing,
            purpose: "",
            phases,
            part: Part::default(),
            current: 0,
            ticks_total: 0,
            work_total: 0,
            kept: Kept::Nothing,
            unpriced: None,
        }
    }

    /// Charges operations by a table from now on; everything given in ticks is then in picoseconds.
    pub fn charge(&mut self, prices: Arc<Prices>) {
        self.timing = Timing::Table(prices);
    }

    /// Operation and algorithm of the first one that the table did not list, in the table's spelling.
    pub fn unpriced(&self) -> Option<(String, String)> {
        let (operation, algorithm) = self.unpriced?.name();
        Some((operation.to_owned(), algorithm.to_owned()))
    }

    /// Times operations from now on, or only counts them.
    pub fn keep_time(&mut self, timed: bool) {
        self.timing = match timed {
            true => Timing::On { empty_ticks: clock::empty_span_ticks() },
            false => Timing::Off,
        };
    }

    /// Records every operation from now on, until [`Metered::clear_journal`]; without this call none is recorded.
    pub fn keep_journal(&mut self) {
        self.kept = Kept::Journal(apart(Journal::default));
    }

    /// Number of operations in the journal.
    pub fn journal_len(&self) -> usize {
        self.kept.journal().map_or(0, |journal| journal.entries().len())
    }

    /// The operations of the journal in their order, one row of count 1 each.
    pub fn journal(&self) -> Vec<Row> {
        self.kept.journal().map_or_else(Vec::new, Journal::rows)
    }

    /// Empties the journal.
    pub fn clear_journal(&mut self) {
        if let Kept::Journal(journal) = &mut self.kept {
            journal.clear();
        }
    }

    /// Sums operations from now on as a price table tells them apart, whatever is reset; in place of a journal.
    pub fn keep_work(&mut self) {
        self.kept = Kept::Work(Work::default());
    }

    /// Remembers the operations of the current step from now on, so that [`Metered::charge_step`] can correct their times; in place of
    /// a journal.
    pub fn keep_step(&mut self) {
        self.kept = Kept::Step(apart(Step::default));
    }

    /// A step begins; see [`Metered::keep_step`].
    pub fn begin_step(&mut self) {
        if let Kept::Step(step) = &mut self.kept {
            step.begin();
        }
    }

    /// Replaces the measured times of the operations since [`Metered::begin_step`] by so many ticks together.
    pub fn charge_step(&mut self, ticks: u64) {
        if let Kept::Step(step) = &mut self.kept {
            let measured = step.charge(&mut self.phases, ticks);
            self.ticks_total = self.ticks_total.saturating_sub(measured).saturating_add(ticks);
        }
    }

    /// Sums operations of another part of the authentications from now on; at first of [`Part::Authentication`].
    pub fn set_part(&mut self, part: Part) {
        self.part = part;
        self.current = self.place_of(self.phases[self.current].phase);
    }

    /// What has been done since [`Metered::keep_work`].
    pub fn work(&self) -> Option<&Work> {
        if let Kept::Work(work) = &self.kept { Some(work) } else { None }
    }

    /// The overhead of counting one operation, in ticks: the clock is read twice.
    pub fn own_ticks(&self) -> u64 {
        match self.timing {
            Timing::On { empty_ticks } => 2 * empty_ticks,
            Timing::Off | Timing::Table(_) => 0,
        }
    }

    /// The provider inside.
    pub fn provider(&self) -> &C {
        &self.provider
    }

    /// Ticks spent in all operations since the last reset; 0 if only counting.
    pub fn crypto_ticks_total(&self) -> u64 {
        self.ticks_total
    }

    /// A fingerprint of the work done: the difference of two of these is the same whenever the same operations ran in
    /// between, in whatever order. It is never reset.
    pub fn work_total(&self) -> u64 {
        self.work_total
    }

    /// Clears all sums; the phase stays.
    pub fn reset(&mut self) {
        let phases = self.phases.iter_mut().filter_map(|sums| sums.table.as_deref_mut());
        phases.for_each(|book| *book = [Sums::default(); Slot::COUNT]);
        self.ticks_total = 0;
    }

    /// The sums so far: a row for each operation that happened, ordered by part, phase, operation and algorithm.
    pub fn snapshot(&self) -> Vec<Row> {
        let mut kept: Vec<_> = self
            .phases
            .iter()
            .filter_map(|sums| Some(((sums.part, sums.phase), sums.table.as_deref()?)))
            .collect();
        kept.sort_by_key(|(place, _)| *place);
        kept.into_iter().flat_map(|(place, book)| rows(place, book)).collect()
    }

    /// The index of a phase in the current part, which is added if it was never entered.
    fn place_of(&mut self, phase: Phase) -> usize {
        let part = self.part;
        let is_it = |sums: &PhaseSums| sums.phase == phase && sums.part == part;
        self.phases.iter().position(is_it).unwrap_or_else(|| {
            apart(|| self.phases.push(PhaseSums { part, phase, table: None }));
            self.phases.len() - 1
        })
    }

    /// Runs an operation and counts it.
    fn count<T>(&mut self, slot: Slot, bytes: usize, operation: impl FnOnce(&mut C) -> T) -> T {
        self.count_at(slot, Place::of(slot), bytes, operation)
    }

    /// Runs an operation with a traffic key and counts it.
    fn count_traffic<T>(&mut self, slot: Slot, bytes: usize, operation: impl FnOnce(&mut C) -> T) -> T {
        self.count_at(slot, Place::of_traffic(slot), bytes, operation)
    }

    fn count_at<T>(
        &mut self,
        slot: Slot,
        place: Place,
        bytes: usize,
        operation: impl FnOnce(&mut C) -> T,
    ) -> T {
        let start = self.timing.start();
        let result = operation(&mut self.provider);
        let ticks = self.timing.since(start, place, bytes as u64).unwrap_or_else(|| {
            self.unpriced.get_or_insert(place);
            0
        });
        let phases = &mut self.phases[self.current];
        let sums = phases.sums_mut(slot.index());
        sums.count += 1;
        sums.ticks = sums.ticks.saturating_add(ticks);
        sums.bytes += bytes as u64;
        self.ticks_total = self.ticks_total.saturating_add(ticks);
        self.work_total = self.work_total.wrapping_add(mark(slot.index()));
        let bytes = bytes as u64;
        match &mut self.kept {
            Kept::Nothing => {}
            Kept::Journal(journal) => {
                journal.push(Entry { phase: phases.phase, purpose: self.purpose, slot, ticks, bytes });
            }
            Kept::Work(work) => work.add(place, Amount { count: 1, bytes }),
            Kept::Step(step) => step.push(Timed { phase: self.current, slot: slot.index(), ticks }),
        }
        result
    }
}

/// A different large number for every kind of operation (the finalizer of SplitMix64), so that sums do not collide.
const fn mark(slot: usize) -> u64 {
    let z = (slot as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 27)
}

impl Kept {
    const fn journal(&self) -> Option<&Journal> {
        if let Self::Journal(journal) = self { Some(journal) } else { None }
    }
}

impl Timing {
    #[inline]
    fn start(&self) -> u64 {
        match self {
            Self::On { .. } => clock::ticks(),
            Self::Off | Self::Table(_) => 0,
        }
    }

    /// None if the table has no price.
    #[inline]
    fn since(&self, start: u64, place: Place, bytes: u64) -> Option<u64> {
        match self {
            // Counters of two cores may differ by a few ticks when a thread moves between them.
            Self::On { empty_ticks } => {
                Some(clock::ticks().saturating_sub(start).saturating_sub(*empty_ticks))
            }
            Self::Off => Some(0),
            Self::Table(prices) => prices.ps(place, bytes),
        }
    }
}

fn empty_table() -> Box<Table> {
    Box::new([Sums::default(); Slot::COUNT])
}

fn rows((part, phase): (Part, Phase), book: &Table) -> impl Iterator<Item = Row> + '_ {
    Slot::all().zip(book).filter(|(_, sums)| sums.count > 0).map(move |((operation, algorithm), sums)| Row {
        part,
        phase,
        purpose: "",
        operation,
        algorithm: algorithm.name(),
        count: sums.count,
        ticks: sums.ticks,
        bytes: sums.bytes,
    })
}

#[inline]
fn total(parts: &[&[u8]]) -> usize {
    parts.iter().map(|part| part.len()).sum()
}

impl<C: Crypto> Crypto for Metered<C> {
    fn enter(&mut self, phase: Phase) {
        if self.phases[self.current].phase != phase {
            self.current = self.place_of(phase);
        }
        self.provider.enter(phase);
    }

    fn set_purpose(&mut self, purpose: &'static str) {
        self.purpose = purpose;
    }

    fn hash(&mut self, algorithm: Hash, parts: &[&[u8]]) -> Digest {
        self.count(Slot::hash(algorithm), total(parts), |provider| provider.hash(algorithm, parts))
    }

    fn sha1_compress(&mut self, state: &mut [u32; 5], block: &[u8; 64]) {
        self.count(Slot::compress(), block.len(), |provider| provider.sha1_compress(state, block));
    }

    fn block(&mut self, cipher: BlockCipher, key: &[u8], block: &mut [u8]) {
        self.count(Slot::block(cipher), block.len(), |provider| provider.block(cipher, key, block));
    }

    fn stream(&mut self, cipher: StreamCipher, key: &[u8], data: &mut [u8]) {
        self.count(Slot::stream(cipher), data.len(), |provider| provider.stream(cipher, key, data));
    }

    fn wrap_key(&mut self, cipher: KeyWrap, key: &[u8], data: &[u8]) -> Vec<u8> {
        self.count(Slot::wrap(cipher), data.len(), |provider| provider.wrap_key(cipher, key, data))
    }

    fn unwrap_key(&mut self, cipher: KeyWrap, key: &[u8], wrapped: &[u8]) -> Result<Secret, Rejected> {
        self.count(Slot::unwrap(cipher), wrapped.len(), |provider| provider.unwrap_key(cipher, key, wrapped))
    }

    fn prf(&mut self, algorithm: Prf, key: &[u8], parts: &[&[u8]]) -> Digest {
        self.count(Slot::prf(algorithm), total(parts), |provider| provider.prf(algorithm, key, parts))
    }

    fn mac(&mut self, algorithm: Integrity, key: &[u8], parts: &[&[u8]]) -> Digest {
        self.count(Slot::mac(algorithm), total(parts), |provider| provider.mac(algorithm, key, parts))
    }

    fn verify_mac(
        &mut self,
        algorithm: Integrity,
        key: &[u8],
        parts: &[&[u8]],
        tag: &[u8],
    ) -> Result<(), Rejected> {
        self.count(Slot::verify_mac(algorithm), total(parts), |provider| {
            provider.verify_mac(algorithm, key, parts, tag)
        })
    }

    fn encrypt(
        &mut self,
        algorithm: Encryption,
        key: &[u8],
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &mut [u8],
    ) {
        self.count(Slot::encrypt(algorithm), data.len() + aad.len(), |provider| {
            provider.encrypt(algorithm, key, iv, aad, data, tag);
        });
    }

    fn decrypt(
        &mut self,
        algorithm: Encryption,
        key: &[u8],
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Rejected> {
        self.count(Slot::decrypt(algorithm), data.len() + aad.len(), |provider| {
            provider.decrypt(algorithm, key, iv, aad, data, tag)
        })
    }

    fn encrypt_traffic(
        &mut self,
        key: &mut TrafficKey,
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &mut [u8],
    ) {
        self.count_traffic(Slot::encrypt(key.encryption), data.len() + aad.len(), |provider| {
            provider.encrypt_traffic(key, iv, aad, data, tag);
        });
    }

    fn decrypt_traffic(
        &mut self,
        key: &mut TrafficKey,
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Rejected> {
        self.count_traffic(Slot::decrypt(key.encryption), data.len() + aad.len(), |provider| {
            provider.decrypt_traffic(key, iv, aad, data, tag)
        })
    }

    fn mac_traffic(&mut self, key: &mut TrafficKey, parts: &[&[u8]], tag: &mut [u8]) {
        self.count_traffic(Slot::mac(key.authentication()), total(parts), |provider| {
            provider.mac_traffic(key, parts, tag);
        });
    }

    fn verify_traffic(&mut self, key: &mut TrafficKey, parts: &[&[u8]], tag: &[u8]) -> Result<(), Rejected> {
        self.count_traffic(Slot::verify_mac(key.authentication()), total(parts), |provider| {
            provider.verify_traffic(key, parts, tag)
        })
    }

    fn generate(&mut self, group: Group, rng: &mut Rng) -> KeyPair {
        self.count(Slot::generate(group), group.public_len(), |provider| provider.generate(group, rng))
    }

    fn agree(&mut self, private: &PrivateKey, peer: &[u8]) -> Result<Secret, Rejected> {
        self.count(Slot::agree(private.group), peer.len(), |provider| provider.agree(private, peer))
    }

    fn on_curve(&mut self, curve: Curve, operation: OnCurve<'_>) -> Result<Secret, Rejected> {
        self.count(Slot::on_curve(curve, operation.operation()), curve.field_len(), |provider| {
            provider.on_curve(curve, operation)
        })
    }

    fn sign(&mut self, key: &SigningKey, scheme: SignatureScheme, parts: &[&[u8]]) -> Vec<u8> {
        self.count(Slot::sign(key.kind, scheme), total(parts), |provider| provider.sign(key, scheme, parts))
    }

    fn verify(
        &mut self,
        spki: &[u8],
        scheme: SignatureScheme,
        parts: &[&[u8]],
        signature: &[u8],
    ) -> Result<(), Rejected> {
        self.count(Slot::verify(spki, scheme), total(parts), |provider| {
            provider.verify(spki, scheme, parts, signature)
        })
    }

    fn rsa_encrypt(&mut self, spki: &[u8], message: &[u8]) -> Result<Vec<u8>, Rejected> {
        self.count(Slot::rsa_encrypt(spki), message.len(), |provider| provider.rsa_encrypt(spki, message))
    }

    fn rsa_decrypt(&mut self, key: &SigningKey, ciphertext: &[u8]) -> Result<Secret, Rejected> {
        self.count(Slot::rsa_decrypt(key.kind), ciphertext.len(), |provider| {
            provider.rsa_decrypt(key, ciphertext)
        })
    }
}
