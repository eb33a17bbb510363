//! Random access: every PE reads or writes an element of its own.

use super::{Flow, Token};
use crate::native::lane::Lane;
use crate::native::{Cause, state};
use crate::tensor::view::{Kind, View};
use crate::tensor::{Ocm, store};
use crate::value::{Elem, Q};

/// Elements that can be addressed by number.
#[track_caller]
fn n_elements(view: &View) -> usize {
    if !view.is_whole() || matches!(view.kind, Kind::Stream(_)) {
        let layout = if view.is_whole() { view.kind.name() } else { "a part of a tensor" };
        Cause::Layout { layout, wanted: "elements by number" }.raise();
    }
    let [c, h, w] = view.dims;
    c.next_multiple_of(view.kind.pack(view.elem)) * h * w
}

impl<T: Elem, L> Ocm<T, L> {
    /// Reads the element of each PE's index, counted in the order of memory; the condition says whether the index was inside.
    /// PEs that are disabled or whose index is outside, and the border, receive 0.
    #[track_caller]
    pub fn gather(&self, index: Q<i32>) -> Flow<(Q<T>, Q<bool>)> {
        let (view, limit) = (self.view_ref(), n_elements(self.view_ref()));
        let (value, valid) = store::read(view.tensor, |bytes| {
            let bytes = &bytes[view.bytes()];
            state::with(|s| {
                let (mut value, mut valid) = (s.buffer::<T::Lane>(), s.buffer::<bool>());
                value.lanes.fill(T::Lane::default());
                valid.lanes.fill(false);
                let index: &[i32] = s.lanes(index.handle());
                let mask = s.masks.last().map(|mask| &mask.lanes);
                for lane in (0..s.geometry.core()).filter(|lane| mask.is_none_or(|mask| mask[*lane])) {
                    let at = index[lane];
                    if at >= 0 && (at as usize) < limit {
                        value.lanes[lane] = T::Lane::from_bytes(&bytes[at as usize * view.elem..][..view.elem]);
                        valid.lanes[lane] = true;
                    }
                }
                (s.add(value), s.add(valid))
            })
        });
        Flow::of((Q::of(value), Q::of(valid)))
    }

    /// Writes the value of each enabled PE at its index; of equal indices the highest row, then column, stays. Indices outside
    /// write nothing.
    #[track_caller]
    pub fn scatter(&self, index: Q<i32>, value: Q<T>) -> Token {
        let (view, limit) = (self.view_ref(), n_elements(self.view_ref()));
        store::write(view.tensor, |bytes| {
            let bytes = &mut bytes[view.bytes()];
            state::with(|s| {
                let (index, value): (&[i32], &[T::Lane]) = (s.lanes(index.handle()), s.lanes(value.handle()));
                let mask = s.masks.last().map(|mask| &mask.lanes);
                // Lanes are in the order of rows, then columns: the last write stays.
                for lane in (0..s.geometry.core()).filter(|lane| mask.is_none_or(|mask| mask[*lane])) {
                    let at = index[lane];
                    if at >= 0 && (at as usize) < limit {
                        value[lane].put_bytes(&mut bytes[at as usize * view.elem..][..view.elem]);
                    }
                }
            });
        });
        Token(())
    }
}
