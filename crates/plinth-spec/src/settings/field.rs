//! The description of one setting, or of one member of an object inside a setting.

use std::fmt;

use serde_json::Value;

use super::shape::Shape;
use crate::named::{Named, NamedDefault};

/// Describes one setting, or one member of an object inside a setting.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name in the API.
    pub key: &'static str,
    /// The values it takes.
    pub shape: Shape,
    /// The value that applies when none is sent; `None`: unset.
    pub default: Option<Literal>,
    /// The unit of a number; empty where it has none.
    pub unit: &'static str,
    /// One sentence for the documentation; empty for members of objects.
    pub description: &'static str,
    /// Whether an object is rejected without this member. Settings are all optional.
    pub is_required: bool,
}

/// A default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// A number.
    Number(f64),
    /// `true` or `false`.
    Flag(bool),
    /// A text.
    Text(&'static str),
}

impl Literal {
    /// The default as JSON. Whole numbers are integers.
    pub fn json(self) -> Value {
        match self {
            Self::Number(number) => {
                #[expect(clippy::cast_possible_truncation, reason = "only kept where nothing was lost")]
                let whole = number as i64;
                #[expect(clippy::cast_precision_loss, clippy::float_cmp, reason = "exactness is what is asked for")]
                let is_whole = whole as f64 == number;
                if is_whole { Value::from(whole) } else { Value::from(number) }
            }
            Self::Flag(flag) => Value::from(flag),
            Self::Text(text) => Value::from(text),
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Flag(flag) => flag.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl Field {
    /// A field of this shape; key and description come from the declaration around it.
    pub(super) const fn of(shape: Shape) -> Self {
        Self { key: "", shape, default: None, unit: "", description: "", is_required: false }
    }

    pub(super) const fn key(self, key: &'static str) -> Self {
        Self { key, ..self }
    }

    pub(super) const fn description(self, description: &'static str) -> Self {
        Self { description, ..self }
    }

    pub(super) const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    pub(super) const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    /// With a number as its default.
    pub(super) const fn or(self, number: f64) -> Self {
        self.or_literal(Literal::Number(number))
    }

    pub(super) const fn or_literal(self, default: Literal) -> Self {
        Self { default: Some(default), ..self }
    }
}

/// A number within a closed range.
pub(super) const fn number(min: f64, max: f64) -> Field {
    Field::of(Shape::Number { min, max })
}

/// A scale: its magnitude lies within a closed range, its sign mirrors.
pub(super) const fn scale(min: f64, max: f64) -> Field {
    Field::of(Shape::Scale { min, max })
}

/// A part of a whole.
pub(super) const fn share() -> Field {
    number(0.0, 1.0)
}

/// `true` or `false`; one of them is the default.
pub(super) const fn flag(default: bool) -> Field {
    Field::of(Shape::Flag).or_literal(Literal::Flag(default))
}

/// `#rrggbb`.
pub(super) const fn color() -> Field {
    Field::of(Shape::Color)
}

/// A text that is not empty.
pub(super) const fn text() -> Field {
    Field::of(Shape::Text { is_empty_allowed: false })
}

/// One of the names of a closed set.
pub(super) const fn choice<T: Named>() -> Field {
    Field::of(Shape::Choice { names: T::NAMES, legacy: &[] })
}

/// One of the names of a closed set, by default the set's own default.
pub(super) const fn choice_or_default<T: NamedDefault>() -> Field {
    choice::<T>().or_literal(Literal::Text(T::DEFAULT_NAME))
}
