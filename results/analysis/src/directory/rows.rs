//! Rows measured at the same time, and the text that is made of them, in the order of the rows.
//!
//! ```text
//! row 0 --worker--> pieces --\
//! row 1 --worker--> pieces ---> out: all of row 0, then all of row 1, …
//! row 2   waits until row 0 is out
//! ```
//!
//! What is found and written is the same with any number of workers. A worker whose row is not to be written yet waits when it has
//! made so much text of it as may be held: memory does not grow with the run.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::DirectoryError;

/// How long a piece of text should be: who writes into [`Pieces`] gathers so much.
pub const PIECE_BYTES: usize = 1 << 16;

/// How much text is held, of all rows together.
const HELD_BYTES: usize = 32 << 20;

/// How many rows are begun for each worker: those that end early need not wait for one that takes longer.
const AHEAD: usize = 2;

/// Where the text of a row goes. Every write is a piece of its own.
#[derive(Debug)]
pub struct Pieces(SyncSender<Vec<u8>>);

impl Write for Pieces {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        // Nobody takes it any more when an earlier row has failed.
        self.0.send(text.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a row has come to.
type Found<F> = Result<F, DirectoryError>;

/// A row that a worker is to measure.
struct Task<R, F> {
    row: R,
    text: Pieces,
    found: Sender<Found<F>>,
}

/// A row that a worker measures, or will.
struct Begun<F> {
    text: Receiver<Vec<u8>>,
    found: Receiver<Found<F>>,
}

/// Measures rows, as many at a time as there are workers, and writes their text to `out`.
///
/// # Errors
/// That of the first row that has one, or that of `out`.
pub(super) fn side_by_side<R: Copy + Send, F: Send>(
    rows: &[R],
    workers: usize,
    measure: &(impl Fn(R, Pieces) -> Found<F> + Sync),
    out: &mut dyn Write,
) -> Result<Vec<F>, DirectoryError> {
    let (tasks, taken) = mpsc::channel();
    let taken = Mutex::new(taken);
    let work = || {
        while let Some(Task { row, text, found }) = next(&taken) {
            // Nobody asks for it any more when an earlier row has failed.
            _ = found.send(measure(row, text));
        }
    };
    thread::scope(|scope| {
        (0..workers).for_each(|_| _ = scope.spawn(work));
        gather(rows, workers * AHEAD, tasks, out)
    })
}

/// The next row to measure; none when all are, or one has failed.
fn next<R, F>(tasks: &Mutex<Receiver<Task<R, F>>>) -> Option<Task<R, F>> {
    tasks.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// Hands out so many rows, and another one whenever the text of one is written.
fn gather<R: Copy, F>(
    rows: &[R],
    ahead: usize,
    tasks: Sender<Task<R, F>>,
    out: &mut dyn Write,
) -> Result<Vec<F>, DirectoryError> {
    let pieces_max = (HELD_BYTES / PIECE_BYTES / ahead.max(1)).max(1);
    let mut waiting = rows.iter();
    let mut begin = move || {
        let (task, begun) = task(*waiting.next()?, pieces_max);
        tasks.send(task).ok()?;
        Some(begun)
    };
    let mut begun: VecDeque<Begun<F>> = (0..ahead).map_while(|_| begin()).collect();
    let mut all = Vec::with_capacity(rows.len());
    while let Some(row) = begun.pop_front() {
        all.push(row.written(out)?);
        begun.extend(begin());
    }
    Ok(all)
}

/// A row as its worker sees it, and as it is seen from outside.
fn task<R, F>(row: R, pieces_max: usize) -> (Task<R, F>, Begun<F>) {
    let (text, pieces) = mpsc::sync_channel(pieces_max);
    let (found, result) = mpsc::channel();
    (Task { row, text: Pieces(text), found }, Begun { text: pieces, found: result })
}

impl<F> Begun<F> {
    /// Writes the text of the row until it ends, and gives what was found.
    fn written(self, out: &mut dyn Write) -> Found<F> {
        for text in self.text {
            out.write_all(&text).map_err(DirectoryError::Sink)?;
        }
        self.found.recv().expect("measuring a row does not panic")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of pieces of each row: more than are held, none, one, …
    const LENGTHS: [usize; 7] = [3, 2000, 0, 700, 1, 2, 600];

    fn failure(row: usize) -> DirectoryError {
        DirectoryError::Untraced(row.to_string().into())
    }

    /// What rows with these numbers of pieces come to, where some fail when all their text is made.
    fn run(workers: usize, failing: &[usize], out: &mut dyn Write) -> Result<Vec<usize>, DirectoryError> {
        let rows: Vec<usize> = (0..LENGTHS.len()).collect();
        let measure = |row: usize, mut text: Pieces| {
            let told = (0..LENGTHS[row]).all(|piece| writeln!(text, "{row} {piece}").is_ok());
            if failing.contains(&row) || !told { Err(failure(row)) } else { Ok(row) }
        };
        side_by_side(&rows, workers, &measure, out)
    }

    #[test]
    fn text_and_findings_are_in_the_order_of_the_rows() {
        let line = |row: usize| move |piece| format!("{row} {piece}\n");
        let wanted: String = (0..LENGTHS.len()).flat_map(|row| (0..LENGTHS[row]).map(line(row))).collect();
        for workers in [1, 2, 3, 16] {
            let mut text = Vec::new();
            assert_eq!(run(workers, &[], &mut text).unwrap(), [0, 1, 2, 3, 4, 5, 6], "{workers}");
            assert_eq!(String::from_utf8(text).unwrap(), wanted, "{workers}");
        }
    }

    #[test]
    fn of_rows_that_fail_the_first_one_is_told() {
        for workers in [1, 2, 3, 16] {
            let error = run(workers, &[4, 2], &mut io::sink()).unwrap_err();
            assert_eq!(error.to_string(), failure(2).to_string(), "{workers}");
        }
    }

    #[test]
    fn a_full_disk_ends_all_rows() {
        for workers in [1, 2, 3, 16] {
            let mut disk = [0; 4000];
            let error = run(workers, &[6], &mut &mut disk[..]).unwrap_err();
            assert!(matches!(error, DirectoryError::Sink(_)), "{workers}: {error}");
        }
    }

    #[test]
    fn no_rows_are_no_text() {
        let measure = |_: usize, _: Pieces| Ok(());
        assert!(side_by_side(&[], 0, &measure, &mut io::sink()).unwrap().is_empty());
    }
}
