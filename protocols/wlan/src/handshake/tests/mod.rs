//! Both sides against each other, and against whoever is in between.

mod captures;
mod exchanges;
mod hostile;
mod pair;
mod transition;
