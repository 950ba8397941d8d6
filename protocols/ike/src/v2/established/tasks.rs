//! Queued requests of an SA. RFC 7296 §2.3: with a window of one a request waits until the one before it is answered.

use std::collections::VecDeque;

use super::Task;

/// Tasks in their order. Mostly there is none, and then no allocation either.
#[derive(Debug, Default)]
#[expect(clippy::box_collection, reason = "an SA that has nothing to ask keeps one word")]
pub(in crate::v2) struct Tasks(Option<Box<VecDeque<Task>>>);

impl Tasks {
    /// Removes the next task.
    pub(super) fn pop_front(&mut self) -> Option<Task> {
        let task = self.0.as_mut()?.pop_front();
        self.0.take_if(|tasks| tasks.is_empty());
        task
    }

    /// Adds a task before all others.
    pub(super) fn push_front(&mut self, task: Task) {
        self.0.get_or_insert_default().push_front(task);
    }

    /// Adds a task after all others.
    pub(super) fn push_back(&mut self, task: Task) {
        self.0.get_or_insert_default().push_back(task);
    }

    /// Adds the tasks of another SA after all others.
    pub(super) fn append(&mut self, mut others: Self) {
        while let Some(task) = others.pop_front() {
            self.push_back(task);
        }
    }

    /// Those of which this is true stay.
    pub(super) fn retain(&mut self, stays: impl Fn(&Task) -> bool) {
        self.0.iter_mut().for_each(|tasks| tasks.retain(&stays));
        self.0.take_if(|tasks| tasks.is_empty());
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Task> {
        self.0.iter().flat_map(|tasks| tasks.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_come_in_their_order_and_leave_no_allocation() {
        let (mut tasks, mut others) = (Tasks::default(), Tasks::default());
        tasks.push_back(Task::Probe);
        tasks.push_front(Task::RekeyIke);
        others.push_back(Task::DeleteChild(7));
        tasks.append(others);
        tasks.retain(|task| *task != Task::Probe);
        let asked: Vec<_> = std::iter::from_fn(|| tasks.pop_front()).collect();
        assert_eq!(asked, [Task::RekeyIke, Task::DeleteChild(7)]);
        assert!(tasks.0.is_none() && tasks.pop_front().is_none());
        assert_eq!(size_of::<Tasks>(), size_of::<usize>());
    }
}
