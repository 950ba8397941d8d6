//! Where the records of a run go.

use keytoll_engine::trace::{NoTrace, Record};

/// Takes the records of a run as they come.
///
/// They come in order of [`Record::at_ns`], save that a node notes [`keytoll_engine::trace::Fact::Triggered`] when the
/// computation it starts has ended, with the moment at which it was asked for.
pub trait Recorder {
    /// Keeps one record.
    fn record(&mut self, record: Record);
}

impl Recorder for Vec<Record> {
    fn record(&mut self, record: Record) {
        self.push(record);
    }
}

impl Recorder for NoTrace {
    fn record(&mut self, _record: Record) {}
}
