//! What a run keeps: variables, the function at hand, budgets, the place in the text.

use std::cell::Cell;
use std::collections::HashMap;

use ccl_syntax::Span;
use ccl_syntax::ast::NodeId;

use super::Limits;
use super::datum::{Datum, Place, Step};
use super::error::{Cause, Evaluated, Exit, InterpError};
use super::unit::{Linker, Unit};
use crate::__rt::Scope;
use crate::kernel::ElemType;
use crate::native::{Id, state};
use crate::value::Value;

/// A place in a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<'a> {
    pub(super) file: &'a str,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// Deepest nesting of calls, blocks and expressions: what the stack of a thread holds, several times over.
pub(super) const MAX_DEPTH: usize = 512;

/// The function that runs.
pub(super) struct Frame<'a> {
    pub(super) unit: &'a Unit,
    /// Const parameters.
    pub(super) consts: HashMap<String, Datum>,
    /// Variables by their bindings.
    vars: HashMap<u32, usize>,
    pub(super) scope: Scope,
}

impl<'a> Frame<'a> {
    pub(super) fn new(unit: &'a Unit, consts: HashMap<String, Datum>) -> Self {
        Self { unit, consts, vars: HashMap::new(), scope: crate::__rt::scope() }
    }
}

struct Variable {
    serial: u64,
    value: Datum,
}

/// A run.
pub(super) struct Machine<'a> {
    pub(super) kernel: &'a str,
    pub(super) linker: &'a dyn Linker,
    pub(super) frame: Frame<'a>,
    variables: Vec<Variable>,
    serial: u64,
    limits: Limits,
    steps: u64,
    tensor_bytes: usize,
    depth: usize,
    /// Shared with the caller, who reads it after a fault.
    at: &'a Cell<At<'a>>,
}

/// A part of a variable, to be written.
pub(super) enum Target<'t> {
    Whole(&'t mut Datum),
    Values(&'t mut [Datum]),
    Element(ElemType, &'t mut Id),
    Elements(ElemType, &'t mut [Id]),
}

impl<'a> Machine<'a> {
    pub(super) fn new(
        kernel: &'a str,
        linker: &'a dyn Linker,
        frame: Frame<'a>,
        limits: Limits,
        at: &'a Cell<At<'a>>,
    ) -> Self {
        let (variables, serial) = (Vec::new(), 0);
        Self { kernel, linker, frame, variables, serial, limits, steps: 0, tensor_bytes: 0, depth: 0, at }
    }

    // ---- errors and budgets ----

    pub(super) fn at(&self, span: Span) {
        let file = self.frame.unit.module.file.as_str();
        self.at.set(At { file, line: span.start.line, column: span.start.col + 1 });
    }

    pub(super) fn here(&self) -> At<'a> {
        self.at.get()
    }

    pub(super) fn return_to(&self, at: At<'a>) {
        self.at.set(at);
    }

    #[cold]
    pub(super) fn stop(&self, cause: impl Into<Cause>) -> Exit {
        stop(self.kernel, self.at.get(), cause.into())
    }

    #[cold]
    pub(super) fn wrong(&self, wanted: impl Into<String>, found: &Datum) -> Exit {
        self.stop(Cause::Type { wanted: wanted.into(), found: format!("`{}`", found.kind()) })
    }

    /// Counts one step, at a place.
    pub(super) fn step(&mut self, span: Span) -> Evaluated<()> {
        self.at(span);
        self.steps += 1;
        if self.steps > self.limits.steps {
            return Err(self.stop(Cause::Steps { limit: self.limits.steps }));
        }
        self.reserve(ElemType::Bool, 0)
    }

    /// Checks that so many vectors may be made.
    pub(super) fn reserve(&mut self, elem: ElemType, n: usize) -> Evaluated<()> {
        let (held, padded) = state::with(|s| (s.held_bytes(), s.geometry.padded()));
        let wanted = n.saturating_mul(padded * elem.bytes());
        if held.saturating_add(wanted) > self.limits.vector_bytes {
            return Err(self.stop(Cause::Memory { limit: self.limits.vector_bytes }));
        }
        self.steps = self.steps.saturating_add(n as u64);
        Ok(())
    }

    /// Checks that a tensor of so many bytes may be made. What is released is not given back: the sum is bounded.
    pub(super) fn reserve_tensor(&mut self, bytes: usize) -> Evaluated<()> {
        self.tensor_bytes = self.tensor_bytes.saturating_add(bytes);
        match self.tensor_bytes > self.limits.tensor_bytes {
            true => Err(self.stop(Cause::Memory { limit: self.limits.tensor_bytes })),
            false => Ok(()),
        }
    }

    /// Runs what is one level deeper.
    pub(super) fn nested<R>(&mut self, f: impl FnOnce(&mut Self) -> Evaluated<R>) -> Evaluated<R> {
        if self.depth >= MAX_DEPTH {
            return Err(self.stop(Cause::Depth { limit: MAX_DEPTH }));
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    // ---- variables ----

    /// Number of variables, for [`release`](Self::release).
    pub(super) fn mark(&self) -> usize {
        self.variables.len()
    }
    /// Ends the variables since a mark, the newest first.
    pub(super) fn release(&mut self, mark: usize) {
        while self.variables.len() > mark {
            self.variables.pop();
        }
    }

    /// Makes a variable without a name.
    pub(super) fn spill(&mut self, value: Datum) -> Place {
        self.serial += 1;
        self.variables.push(Variable { serial: self.serial, value });
        Place { slot: self.variables.len() - 1, serial: self.serial, path: Vec::new() }
    }

    pub(super) fn declare(&mut self, binding: NodeId, is_mutable: bool, value: Datum) {
        let value = if is_mutable { value.var() } else { value.bind() };
        let place = self.spill(value);
        self.frame.vars.insert(binding.0, place.slot);
    }

    /// The place of a variable.
    pub(super) fn variable(&self, binding: NodeId) -> Option<Place> {
        let slot = *self.frame.vars.get(&binding.0)?;
        Some(Place { slot, serial: self.variables.get(slot)?.serial, path: Vec::new() })
    }

    /// The value of a variable; its vectors are those of the variable.
    pub(super) fn value(&self, binding: NodeId) -> Option<Datum> {
        let slot = *self.frame.vars.get(&binding.0)?;
        Some(self.variables.get(slot)?.value.clone())
    }

    pub(super) fn target(&mut self, place: &Place) -> Evaluated<Target<'_>> {
        let (kernel, at) = (self.kernel, self.at.get());
        find(&mut self.variables, place).map_err(|cause| stop(kernel, at, cause))
    }

    /// The value at a place; its vectors are those of the variable.
    pub(super) fn load(&mut self, place: &Place) -> Evaluated {
        Ok(match self.target(place)? {
            Target::Whole(value) => value.clone(),
            Target::Values(values) => Datum::Array(values.to_vec()),
            Target::Element(elem, id) => Datum::Pe(elem, *id),
            Target::Elements(elem, ids) => Datum::Lrm(elem, ids.to_vec()),
        })
    }

    /// The place behind references.
    pub(super) fn deref(&mut self, place: Place) -> Evaluated<Place> {
        let mut place = place;
        for _ in 0..MAX_DEPTH {
            match self.target(&place)? {
                Target::Whole(Datum::Ref(inner)) => place = inner.clone(),
                _ => return Ok(place),
            }
        }
        Err(self.stop(Cause::Depth { limit: MAX_DEPTH }))
    }

    /// The value behind references.
    pub(super) fn strip(&mut self, value: Datum) -> Evaluated {
        match value {
            Datum::Ref(place) => {
                let place = self.deref(place)?;
                self.load(&place)
            }
            value => Ok(value),
        }
    }
}

#[cold]
fn stop(kernel: &str, at: At<'_>, cause: Cause) -> Exit {
    Exit::Stop(Box::new(at.error(kernel, cause)))
}

impl At<'_> {
    /// What happened here.
    pub(super) fn error(self, kernel: &str, cause: Cause) -> InterpError {
        let At { file, line, column } = self;
        InterpError::At { kernel: kernel.to_owned(), file: file.to_owned(), line, column, cause: Box::new(cause) }
    }
}

fn find<'t>(variables: &'t mut [Variable], place: &Place) -> Result<Target<'t>, Cause> {
    let variable = variables.get_mut(place.slot).filter(|v| v.serial == place.serial).ok_or(Cause::Dangling)?;
    let mut target = Target::Whole(&mut variable.value);
    for step in &place.path {
        target = part(target, *step)?;
    }
    Ok(target)
}

fn part(target: Target<'_>, step: Step) -> Result<Target<'_>, Cause> {
    let index = |i: usize, len: usize| Cause::Index { index: i as i128, len };
    let range = |from: usize, to: usize, len: usize| match from <= to && to <= len {
        true => Ok(from..to),
        false => Err(index(to.max(from), len)),
    };
    let wrong = |wanted: &str, found: &Datum| Cause::Type { wanted: wanted.to_owned(), found: found.kind() };
    Ok(match (target, step) {
        (Target::Whole(Datum::Tuple(values)), Step::Field(i)) => {
            let len = values.len();
            Target::Whole(values.get_mut(i).ok_or(index(i, len))?)
        }
        (Target::Whole(Datum::Array(values)), step) => return part(Target::Values(values), step),
        (Target::Whole(Datum::Lrm(elem, ids)), step) => return part(Target::Elements(*elem, ids), step),
        (Target::Values(values), Step::Index(i)) => {
            let len = values.len();
            Target::Whole(values.get_mut(i).ok_or(index(i, len))?)
        }
        (Target::Values(values), Step::Range(from, to)) => {
            let range = range(from, to, values.len())?;
            Target::Values(&mut values[range])
        }
        (Target::Elements(elem, ids), Step::Index(i)) => {
            let len = ids.len();
            Target::Element(elem, ids.get_mut(i).ok_or(index(i, len))?)
        }
        (Target::Elements(elem, ids), Step::Range(from, to)) => {
            let range = range(from, to, ids.len())?;
            Target::Elements(elem, &mut ids[range])
        }
        (Target::Whole(value), _) => return Err(wrong("something with parts", value)),
        _ => return Err(wrong("something with parts", &Datum::Token)),
    })
}
