//! Long series in fewer points: the greatest value of each stretch, so that no peak is lost.

use std::ops::Range;

/// As many stretches of about equal length as there is room for, or one for each value if there is more room.
pub fn stretches(length: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let count = length.min(most.max(1));
    (0..count).map(move |place| place * length / count..(place + 1) * length / count)
}

/// The greatest of some values, at least 0.
pub fn greatest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_is_left_out_and_no_peak_is_lost() {
        let of = |values: &[f64], most| -> Vec<f64> {
            stretches(values.len(), most).map(|stretch| greatest(values[stretch].iter().copied())).collect()
        };
        assert_eq!(of(&[1.0, 2.0, 3.0], 2), [1.0, 3.0]);
        assert_eq!(of(&[1.0, 8.0, 2.0, 4.0], 2), [8.0, 4.0]);
        assert_eq!(of(&[1.0, 2.0], 10), [1.0, 2.0]);
        assert_eq!((of(&[], 10), of(&[5.0, 6.0], 0)), (vec![], vec![6.0]));
    }
}
