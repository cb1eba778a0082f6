//! Reads the values of glTF accessors. All component types are supported. Values may be normalised, interleaved or
//! sparse.

use crate::error::{ModelError, Result};
use crate::json::Accessor;
use crate::limits::check;
use crate::source::Source;

/// The types of accessor components (glTF 2.0, section 5.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Component {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

impl Component {
    fn from_code(location: &str, code: u32) -> Result<Self> {
        Ok(match code {
            5120 => Self::I8,
            5121 => Self::U8,
            5122 => Self::I16,
            5123 => Self::U16,
            5125 => Self::U32,
            5126 => Self::F32,
            other => return Err(ModelError::invalid(location, format!("component type {other} does not exist"))),
        })
    }

    const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
        }
    }

    fn read_f32(self, bytes: &[u8], normalized: bool) -> f32 {
        let scale = |value: f32, max: f32| if normalized { (value / max).max(-1.0) } else { value };
        match (self, bytes) {
            (Self::I8, [a, ..]) => scale(f32::from(i8::from_le_bytes([*a])), 127.0),
            (Self::U8, [a, ..]) => scale(f32::from(*a), 255.0),
            (Self::I16, [a, b, ..]) => scale(f32::from(i16::from_le_bytes([*a, *b])), 32767.0),
            (Self::U16, [a, b, ..]) => scale(f32::from(u16::from_le_bytes([*a, *b])), 65535.0),
            (Self::U32, [a, b, c, d, ..]) => u32::from_le_bytes([*a, *b, *c, *d]) as f32,
            (Self::F32, [a, b, c, d, ..]) => f32::from_le_bytes([*a, *b, *c, *d]),
            _ => 0.0,
        }
    }

    fn read_u32(self, bytes: &[u8]) -> u32 {
        match (self, bytes) {
            (Self::U8, [a, ..]) => u32::from(*a),
            (Self::U16, [a, b, ..]) => u32::from(u16::from_le_bytes([*a, *b])),
            (Self::U32, [a, b, c, d, ..]) => u32::from_le_bytes([*a, *b, *c, *d]),
            _ => 0,
        }
    }
}

/// Reads the values of one accessor. [`Reader::open`] checks the accessor's type and its range.
pub(crate) struct Reader<'a> {
    source: &'a Source<'a>,
    location: String,
    pub(crate) count: usize,
    pub(crate) component: Component,
    pub(crate) components: usize,
    normalized: bool,
    /// The accessor's bytes, starting at its first element, and the distance between elements in bytes. `None` means
    /// that all values are zero.
    data: Option<(&'a [u8], usize)>,
    /// Sparse values: the indices of the replaced elements, and the bytes of the new values.
    sparse: Option<(Vec<u32>, &'a [u8])>,
}

fn components_of(location: &str, kind: &str) -> Result<usize> {
    Ok(match kind {
        "SCALAR" => 1,
        "VEC2" => 2,
        "VEC3" => 3,
        "VEC4" | "MAT2" => 4,
        "MAT3" => 9,
        "MAT4" => 16,
        other => {
            let name = crate::source::shortened(other);
            return Err(ModelError::invalid(location, format!("accessor type '{name}' does not exist")));
        }
    })
}

impl<'a> Reader<'a> {
    /// Opens an accessor, and checks its type, range, stride and sparse values.
    pub(crate) fn open(source: &'a Source<'_>, index: usize) -> Result<Self> {
        let location = format!("accessors[{index}]");
        let accessor: &Accessor = source
            .root
            .accessors
            .get(index)
            .ok_or_else(|| ModelError::invalid(location.as_str(), "it does not exist"))?;
        let component = Component::from_code(&location, accessor.component_type)?;
        let components = components_of(&location, &accessor.kind)?;
        let element = component.size() * components;
        let count = usize::try_from(accessor.count)
            .map_err(|_wide| ModelError::invalid(location.as_str(), "count is too large"))?;
        let data = match accessor.buffer_view {
            None => {
                // The elements of an accessor without data are zero and take no bytes in the file. Therefore the file
                // size does not limit their number.
                check("zero-filled values", accessor.count, source.limits.vertices)?;
                None
            }
            Some(view) => {
                let (bytes, view) = source.view(&location, view)?;
                let stride = view.stride(accessor.count, element as u64);
                Some(range(&location, bytes, accessor.byte_offset, count, element, stride)?)
            }
        };
        let sparse = match &accessor.sparse {
            None => None,
            Some(sparse) => {
                let indices = sparse_indices(source, &location, sparse, count)?;
                let (bytes, _) = source.view(&location, sparse.values.buffer_view)?;
                let (bytes, _) = range(&location, bytes, sparse.values.byte_offset, indices.len(), element, None)?;
                Some((indices, bytes))
            }
        };
        Ok(Self { source, location, count, component, components, normalized: accessor.normalized, data, sparse })
    }

    /// Returns the bytes of the element with index `i`.
    fn element(&self, i: usize) -> &'a [u8] {
        let size = self.component.size() * self.components;
        self.data.and_then(|(bytes, stride)| bytes.get(i * stride..i * stride + size)).unwrap_or(&[])
    }

    /// Returns all components if each has four bytes and there is no padding between elements.
    fn packed_words(&self) -> Option<&'a [[u8; 4]]> {
        let (bytes, stride) = self.data?;
        let is_packed = self.component.size() == 4 && stride == 4 * self.components;
        is_packed.then_some(bytes.as_chunks().0)
    }

    /// Reads all components into `out`. The values in `out` must be zero, because an accessor without data leaves them
    /// unchanged.
    fn fill<T>(&self, out: &mut [T], read: impl Fn(Component, &[u8]) -> T) {
        let size = self.component.size();
        if let Some(words) = self.packed_words() {
            match self.component {
                Component::F32 => out.iter_mut().zip(words).for_each(|(slot, word)| *slot = read(Component::F32, word)),
                _ => out.iter_mut().zip(words).for_each(|(slot, word)| *slot = read(Component::U32, word)),
            }
        } else if self.data.is_some() {
            for (i, slots) in out.chunks_exact_mut(self.components).enumerate() {
                for (slot, bytes) in slots.iter_mut().zip(self.element(i).chunks_exact(size)) {
                    *slot = read(self.component, bytes);
                }
            }
        }
        if let Some((indices, values)) = &self.sparse {
            for (i, element) in indices.iter().zip(values.chunks_exact(size * self.components)) {
                let from = *i as usize * self.components;
                let slots = out.get_mut(from..from + self.components).unwrap_or(&mut []);
                for (slot, bytes) in slots.iter_mut().zip(element.chunks_exact(size)) {
                    *slot = read(self.component, bytes);
                }
            }
        }
    }

    fn fill_floats(&self, out: &mut [f32]) -> Result<()> {
        self.fill_unchecked(out);
        if out.iter().all(|v| v.is_finite()) {
            Ok(())
        } else {
            Err(ModelError::invalid(self.location.as_str(), "a value is not finite"))
        }
    }

    fn fill_unchecked(&self, out: &mut [f32]) {
        self.fill(out, |component, bytes| component.read_f32(bytes, self.normalized));
    }

    /// Returns all values as floats. Integers of a normalised accessor are mapped to 0..=1 or −1..=1. Returns `None` if
    /// a value is not finite.
    pub(crate) fn finite_floats(&self) -> Result<Option<Vec<f32>>> {
        let mut values = self.zeros(self.components)?;
        self.fill_unchecked(&mut values);
        Ok(values.iter().all(|v| v.is_finite()).then_some(values))
    }

    /// Allocates a list of zeros with `width` values per element. The bytes of the list are counted against the budget
    /// before they are allocated.
    fn zeros<T: Clone + Default>(&self, width: usize) -> Result<Vec<T>> {
        let count = self.count.saturating_mul(width);
        self.source.budget.take::<T>(count)?;
        Ok(vec![T::default(); count])
    }

    fn wrong_width(&self, needed: usize) -> ModelError {
        let problem = format!("it has {} components where {needed} are needed", self.components);
        ModelError::invalid(self.location.as_str(), problem)
    }

    /// Returns all values as vectors. `N` must be the accessor's number of components.
    pub(crate) fn vectors<const N: usize>(&self) -> Result<Vec<[f32; N]>> {
        let mut values = self.zero_vectors::<N>()?;
        self.fill_floats(values.as_flattened_mut())?;
        Ok(values)
    }

    /// Like [`Self::vectors`], but replaces components that are not finite by 0. Also returns whether any component was
    /// replaced.
    pub(crate) fn finite_vectors<const N: usize>(&self) -> Result<(Vec<[f32; N]>, bool)> {
        let mut values = self.zero_vectors::<N>()?;
        self.fill_unchecked(values.as_flattened_mut());
        let replaced = replace_non_finite(values.as_flattened_mut());
        Ok((values, replaced))
    }

    /// Like [`Self::finite_vectors`], but for an accessor with at least N components, of which the first N are returned.
    pub(crate) fn shortened_vectors<const N: usize>(&self) -> Result<(Vec<[f32; N]>, bool)> {
        let mut values = self.zeros::<f32>(self.components)?;
        self.fill_unchecked(&mut values);
        self.source.budget.take::<[f32; N]>(self.count)?;
        let resized = |value: &[f32]| std::array::from_fn::<_, N, _>(|c| value.get(c).copied().unwrap_or_default());
        let mut vectors: Vec<[f32; N]> = values.chunks_exact(self.components).map(resized).collect();
        let replaced = replace_non_finite(vectors.as_flattened_mut());
        Ok((vectors, replaced))
    }

    fn zero_vectors<const N: usize>(&self) -> Result<Vec<[f32; N]>> {
        if self.components != N {
            return Err(self.wrong_width(N));
        }
        self.source.budget.take::<[f32; N]>(self.count)?;
        Ok(vec![[0.0; N]; self.count])
    }

    /// Returns all values as unsigned integers. The accessor must have one component.
    pub(crate) fn integers(&self) -> Result<Vec<u32>> {
        if self.components != 1 {
            return Err(self.wrong_width(1));
        }
        match self.component {
            Component::U8 | Component::U16 | Component::U32 => {
                let mut values = self.zeros(self.components)?;
                self.fill(&mut values, Component::read_u32);
                Ok(values)
            }
            other => Err(ModelError::invalid(
                self.location.as_str(),
                format!("unsigned integers are needed, not component type {other:?}"),
            )),
        }
    }
}

/// Replaces values that are not finite by 0. Returns whether there were any.
fn replace_non_finite(values: &mut [f32]) -> bool {
    let mut replaced = false;
    for value in values.iter_mut().filter(|v| !v.is_finite()) {
        (*value, replaced) = (0.0, true);
    }
    replaced
}

/// Returns the bytes of a buffer view that contain the `count` elements, and the distance between elements in bytes.
fn range<'a>(
    location: &str,
    bytes: &'a [u8],
    offset: u64,
    count: usize,
    element: usize,
    stride: Option<u64>,
) -> Result<(&'a [u8], usize)> {
    let stride = match stride {
        None | Some(0) => element,
        Some(s) => usize::try_from(s).unwrap_or(usize::MAX),
    };
    if stride < element {
        return Err(ModelError::invalid(
            location,
            format!("byteStride {stride} is smaller than an element of {element}"),
        ));
    }
    let needed = match count {
        0 => Some(0),
        n => (n - 1).checked_mul(stride).and_then(|all| all.checked_add(element)),
    };
    usize::try_from(offset)
        .ok()
        .and_then(|offset| Some((offset, offset.checked_add(needed?)?)))
        .and_then(|(from, to)| bytes.get(from..to))
        .map(|slice| (slice, stride))
        .ok_or_else(|| {
            ModelError::invalid(
                location,
                format!(
                    "{count} elements from byte {offset} are more than its bufferView of {} bytes holds",
                    bytes.len()
                ),
            )
        })
}

fn sparse_indices(source: &Source<'_>, location: &str, sparse: &crate::json::Sparse, count: usize) -> Result<Vec<u32>> {
    let component = Component::from_code(location, sparse.indices.component_type)?;
    if !matches!(component, Component::U8 | Component::U16 | Component::U32) {
        return Err(ModelError::invalid(location, "sparse indices are not unsigned integers"));
    }
    let sparse_count = usize::try_from(sparse.count)
        .ok()
        .filter(|n| *n <= count)
        .ok_or_else(|| ModelError::invalid(location, format!("{} sparse values for {count} elements", sparse.count)))?;
    source.budget.take::<u32>(sparse_count)?;
    let (bytes, _) = source.view(location, sparse.indices.buffer_view)?;
    let (bytes, stride) = range(location, bytes, sparse.indices.byte_offset, sparse_count, component.size(), None)?;
    let indices: Vec<u32> = bytes.chunks_exact(stride).map(|b| component.read_u32(b)).collect();
    match indices.iter().find(|i| **i as usize >= count) {
        Some(out_of_range) => Err(ModelError::invalid(
            location,
            format!("sparse index {out_of_range} is out of range: there are {count} elements"),
        )),
        None => Ok(indices),
    }
}
