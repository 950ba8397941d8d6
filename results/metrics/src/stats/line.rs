//! A straight line through points by least squares, and the correlation of two quantities.

/// `y = intercept + slope · x`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Of y per x.
    pub slope: f64,
    /// y at x = 0.
    pub intercept: f64,
}

impl Line {
    /// The line with the least squares of its distances in y; `None` if all x are equal.
    pub fn through(points: &[(f64, f64)]) -> Option<Self> {
        let sums = Sums::of(points);
        let slope = sums.xy / sums.xx;
        slope.is_finite().then_some(Self { slope, intercept: sums.y - slope * sums.x })
    }

    /// y at an x.
    pub fn at(self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }
}

/// Pearson's coefficient; `None` if one of the two does not vary.
pub fn correlation(points: &[(f64, f64)]) -> Option<f64> {
    let sums = Sums::of(points);
    let coefficient = sums.xy / (sums.xx * sums.yy).sqrt();
    coefficient.is_finite().then_some(coefficient)
}

/// Means, and sums of products of the deviations from them.
struct Sums {
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Sums {
    fn of(points: &[(f64, f64)]) -> Self {
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let sum = |of: fn(f64, f64) -> f64| points.iter().map(|point| of(point.0 - x, point.1 - y)).sum();
        Self { x, y, xx: sum(|x, _| x * x), xy: sum(|x, y| x * y), yy: sum(|_, y| y * y) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worked_example() {
        // Means 2 and 3; Σxy = 1·1 + 0 + 1·1 = 2, Σxx = 2.
        let line = Line::through(&[(1.0, 2.0), (2.0, 3.0), (3.0, 4.0)]).unwrap();
        assert_eq!((line.slope, line.intercept, line.at(10.0)), (1.0, 1.0, 11.0));
        // Means 2 and 3; Σxy = −1·2 + 0 + 1·(−1) = −3, Σxx = 2, Σyy = 4 + 1 + 1.
        let scattered = [(1.0, 5.0), (2.0, 2.0), (3.0, 2.0)];
        assert_eq!(Line::through(&scattered).unwrap().slope, -1.5);
        assert!((correlation(&scattered).unwrap() + 3.0 / 12.0_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn constants_have_neither() {
        assert_eq!(Line::through(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(Line::through(&[]), None);
        assert_eq!(correlation(&[(1.0, 2.0), (2.0, 2.0)]), None);
    }
}
