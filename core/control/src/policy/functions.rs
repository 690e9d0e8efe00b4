//! Elementwise functions of a network.

/// Set each number of a slice to an expression of those in the same place of others: a loop that the compiler turns into
/// instructions for several numbers. A closure would be a call.
macro_rules! each {
    ($y:expr, $x:ident, $value:expr) => {
        for (y, $x) in $y.iter_mut().zip($x) {
            *y = $value;
        }
    };
    ($y:expr, $a:ident, $b:ident, $value:expr) => {
        for ((y, $a), $b) in $y.iter_mut().zip($a).zip($b) {
            *y = $value;
        }
    };
}

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Activation {
    Relu,
    LeakyRelu {
        slope: f32,
    },
    Elu {
        alpha: f32,
    },
    Tanh,
    Sigmoid,
    Softplus,
    Erf,
    Exp,
    Log,
    Sqrt,
    Abs,
    Sign,
    Floor,
    Ceil,
    /// Towards zero.
    Truncate,
    Clip {
        min: f32,
        max: f32,
    },
}

impl Activation {
    /// Apply the function to each number of `x`.
    #[inline(always)]
    pub(super) fn apply_to_all(self, x: &[f32], y: &mut [f32]) {
        // What policies use most: as the function is known in each loop, the compiler leaves out the choice for each number.
        match self {
            Self::Relu => each!(y, x, Self::Relu.apply(*x)),
            Self::LeakyRelu { slope } => each!(y, x, Self::LeakyRelu { slope }.apply(*x)),
            Self::Clip { min, max } => each!(y, x, Self::Clip { min, max }.apply(*x)),
            Self::Tanh => each!(y, x, Self::Tanh.apply(*x)),
            Self::Sigmoid => each!(y, x, Self::Sigmoid.apply(*x)),
            Self::Exp => each!(y, x, Self::Exp.apply(*x)),
            _ => self.apply_singly(x, y),
        }
    }

    #[inline(never)]
    fn apply_singly(self, x: &[f32], y: &mut [f32]) {
        each!(y, x, self.apply(*x));
    }

    #[inline(always)]
    pub(super) fn apply(self, x: f32) -> f32 {
        match self {
            Self::Relu => x.max(0.0),
            Self::LeakyRelu { slope } => {
                if x < 0.0 {
                    slope * x
                } else {
                    x
                }
            }
            Self::Elu { alpha } => {
                if x < 0.0 {
                    alpha * libm::expm1f(x)
                } else {
                    x
                }
            }
            Self::Tanh => libm::tanhf(x),
            Self::Sigmoid => 1.0 / (1.0 + libm::expf(-x)),
            // `exp` of no positive number, which would overflow.
            Self::Softplus => x.max(0.0) + libm::log1pf(libm::expf(-x.abs())),
            Self::Erf => libm::erff(x),
            Self::Exp => libm::expf(x),
            Self::Log => libm::logf(x),
            Self::Sqrt => x.sqrt(),
            Self::Abs => x.abs(),
            Self::Sign => {
                if x == 0.0 {
                    0.0
                } else {
                    x.signum()
                }
            }
            Self::Floor => libm::floorf(x),
            Self::Ceil => libm::ceilf(x),
            Self::Truncate => libm::truncf(x),
            Self::Clip { min, max } => x.max(min).min(max),
        }
    }
}

/// A function of two numbers. Comparisons give 1 or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Combination {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Min,
    Max,
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl Combination {
    /// Apply the function to each number of `a` and the one of `b` in the same place.
    #[inline(always)]
    pub(super) fn apply_to_all(self, a: &[f32], b: &[f32], y: &mut [f32]) {
        match self {
            Self::Add => each!(y, a, b, Self::Add.apply(*a, *b)),
            Self::Sub => each!(y, a, b, Self::Sub.apply(*a, *b)),
            Self::Mul => each!(y, a, b, Self::Mul.apply(*a, *b)),
            Self::Div => each!(y, a, b, Self::Div.apply(*a, *b)),
            _ => self.apply_singly(a, b, y),
        }
    }

    #[inline(never)]
    fn apply_singly(self, a: &[f32], b: &[f32], y: &mut [f32]) {
        each!(y, a, b, self.apply(*a, *b));
    }

    #[inline(always)]
    pub(super) fn apply(self, a: f32, b: f32) -> f32 {
        let truth = |is: bool| if is { 1.0 } else { 0.0 };
        match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Mul => a * b,
            Self::Div => a / b,
            Self::Pow => libm::powf(a, b),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::Equal => truth(a == b),
            Self::Greater => truth(a > b),
            Self::GreaterOrEqual => truth(a >= b),
            Self::Less => truth(a < b),
            Self::LessOrEqual => truth(a <= b),
        }
    }

    /// Whether the result is 1 or 0.
    pub(super) const fn is_comparison(self) -> bool {
        matches!(self, Self::Equal | Self::Greater | Self::GreaterOrEqual | Self::Less | Self::LessOrEqual)
    }
}

/// A function of several numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reduction {
    Sum,
    Mean,
    Max,
    Min,
    Product,
    SumOfSquares,
    /// The root of the sum of squares.
    Norm,
    /// The logarithm of the sum of exponentials.
    LogSumExp,
    /// The index of the largest; of equal ones, the first.
    ArgMax,
}

impl Reduction {
    /// Reduce `x`, which is not empty.
    pub(super) fn apply(self, x: &[f32]) -> f32 {
        // In double precision, because a long sum loses digits.
        let sum = |of: fn(f64) -> f64| x.iter().map(|x| of(f64::from(*x))).sum::<f64>();
        match self {
            Self::Sum => sum(|x| x) as f32,
            Self::Mean => (sum(|x| x) / x.len() as f64) as f32,
            Self::Max => x.iter().copied().fold(f32::NEG_INFINITY, f32::max),
            Self::Min => x.iter().copied().fold(f32::INFINITY, f32::min),
            Self::Product => x.iter().product(),
            Self::SumOfSquares => sum(|x| x * x) as f32,
            Self::Norm => sum(|x| x * x).sqrt() as f32,
            Self::LogSumExp => {
                let largest = Self::Max.apply(x);
                let sum: f64 = x.iter().map(|x| f64::from(libm::expf(x - largest))).sum();
                largest + libm::logf(sum as f32)
            }
            Self::ArgMax => {
                let mut largest = 0;
                for (index, value) in x.iter().enumerate() {
                    if *value > x[largest] {
                        largest = index;
                    }
                }
                largest as f32
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_computes_what_its_name_says() {
        let close =
            |got: f32, want: f64| assert!((f64::from(got) - want).abs() < 1e-6, "{got} is not {want}");
        for (activation, [below, zero, above]) in [
            (Activation::Softplus, [0.126_928, std::f64::consts::LN_2, 3.048_587]),
            (Activation::Erf, [-0.995_322, 0.0, 0.999_978]),
            (Activation::Exp, [0.135_335, 1.0, 20.085_537]),
            (Activation::Abs, [2.0, 0.0, 3.0]),
            (Activation::Sign, [-1.0, 0.0, 1.0]),
            (Activation::Floor, [-2.0, 0.0, 3.0]),
        ] {
            close(activation.apply(-2.0), below);
            close(activation.apply(0.0), zero);
            close(activation.apply(3.0), above);
        }
        close(Activation::Softplus.apply(200.0), 200.0);
        close(Activation::Sqrt.apply(9.0), 3.0);
        close(Activation::Truncate.apply(-1.7), -1.0);
        close(Activation::Ceil.apply(-1.7), -1.0);
        for (combination, expected) in [
            (Combination::Div, 1.5),
            (Combination::Pow, 9.0),
            (Combination::Min, 2.0),
            (Combination::Max, 3.0),
            (Combination::Equal, 0.0),
            (Combination::Greater, 1.0),
            (Combination::GreaterOrEqual, 1.0),
            (Combination::Less, 0.0),
            (Combination::LessOrEqual, 0.0),
        ] {
            close(combination.apply(3.0, 2.0), expected);
        }
        for (reduction, expected) in [
            (Reduction::Sum, 5.0),
            (Reduction::Mean, 1.25),
            (Reduction::Max, 4.0),
            (Reduction::Min, -3.0),
            (Reduction::Product, -36.0),
            (Reduction::SumOfSquares, 35.0),
            (Reduction::Norm, 35f64.sqrt()),
            (Reduction::LogSumExp, 4.349_655),
            (Reduction::ArgMax, 1.0),
        ] {
            close(reduction.apply(&[1.0, 4.0, -3.0, 3.0]), expected);
        }
    }
}
