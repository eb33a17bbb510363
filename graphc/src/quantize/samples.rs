//! Calibration inputs: in memory, drawn from a seed, or from files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ndarray::Axis;

use crate::graph::{Graph, Tensor, Type, each_tensor};
use crate::picture::{Frame, picture_extents};
use crate::{npy, npz};

/// The inputs of one run, by name.
pub type Inputs = HashMap<String, Tensor>;

/// Why an input cannot be had.
pub type SampleError = Box<dyn std::error::Error + Send + Sync>;

/// Inputs to calibrate on, each brought when it is needed.
pub trait Samples: Sync {
    /// How many there are.
    fn count(&self) -> usize;

    /// One of them.
    ///
    /// # Errors
    /// Why it cannot be had.
    fn get(&self, index: usize) -> Result<Cow<'_, Inputs>, SampleError>;

    /// Its name, for messages.
    fn label(&self, index: usize) -> String {
        index.to_string()
    }
}

impl Samples for Vec<Inputs> {
    fn count(&self) -> usize {
        self.len()
    }

    fn get(&self, index: usize) -> Result<Cow<'_, Inputs>, SampleError> {
        Ok(Cow::Borrowed(&self[index]))
    }
}

/// Inputs drawn from a seed, as [`Tensor::synthetic`] draws them.
#[derive(Debug, Clone)]
pub struct Synthetic {
    types: Vec<(String, Type)>,
    count: usize,
    seed: u64,
}

impl Synthetic {
    /// So many inputs of a network.
    pub fn new(graph: &Graph, count: usize, seed: u64) -> Self {
        let types = graph.inputs().iter().map(|&id| (graph.value(id).name.clone(), graph.value(id).ty.clone()));
        Synthetic { types: types.collect(), count, seed }
    }
}

impl Samples for Synthetic {
    fn count(&self) -> usize {
        self.count
    }

    fn get(&self, index: usize) -> Result<Cow<'_, Inputs>, SampleError> {
        // Far apart, so that the inputs of one seed are none of the next.
        let first = self.seed.wrapping_mul(0xd1b5_4a32_d192_ed03).wrapping_add((index * self.types.len()) as u64);
        let draw = |(i, (name, ty)): (usize, &(String, Type))| {
            (name.clone(), Tensor::synthetic(ty, first.wrapping_add(i as u64)))
        };
        Ok(Cow::Owned(self.types.iter().enumerate().map(draw).collect()))
    }
}

/// Why files hold no inputs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilesError {
    /// A file or folder cannot be read.
    #[error("`{path}`: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A folder has nothing that can be an input.
    #[error("folder `{path}` has no file that ends in .png, .jpg, .jpeg, .npy or .npz")]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// The end of a file's name says nothing.
    #[error("`{path}` ends in none of .png, .jpg, .jpeg, .npy and .npz")]
    Kind {
        /// The file.
        path: PathBuf,
    },
    /// The network has several inputs, and the file is for one.
    #[error(
        "`{path}` is one input, and the network has {inputs}\n  help: give a .npz file with an array for each of them"
    )]
    OneOfSeveral {
        /// The file.
        path: PathBuf,
        /// The inputs.
        inputs: String,
    },
    /// The network takes no pictures.
    #[error("`{path}` is a picture, and input `{input}` is {ty}: pictures suit f32[1x3xHxW]\n  help: give a .npy file")]
    NoPicture {
        /// The file.
        path: PathBuf,
        /// The input.
        input: String,
        /// Its type.
        ty: Type,
    },
    /// A file is damaged, or of another form.
    #[error("`{path}`: {reason}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// An array does not suit its input.
    #[error(
        "`{path}`: the array for input `{input}` is {found}, expected {expected}, or several of those along a first axis"
    )]
    Type {
        /// The file.
        path: PathBuf,
        /// The input.
        input: String,
        /// The array's type.
        found: Type,
        /// The input's.
        expected: Type,
    },
}

/// Inputs from pictures and arrays.
#[derive(Debug, Clone)]
pub struct Files {
    input: String,
    extents: (u32, u32),
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
enum Entry {
    /// A picture, read when it is needed.
    Picture(PathBuf),
    Arrays(String, Inputs),
}

impl Files {
    /// The inputs that files, and the files of folders in the order of their names, hold for a network: a picture or an array
    /// for one input, or a `.npz` with an array named after each. An array with a first axis more, or with a longer one where
    /// the input's is 1, holds several.
    ///
    /// # Errors
    /// [`FilesError`]; pictures are not looked into yet.
    pub fn open(graph: &Graph, paths: &[PathBuf]) -> Result<Self, FilesError> {
        let mut files = Files { input: String::new(), extents: (0, 0), entries: Vec::new() };
        for path in paths {
            if path.is_dir() {
                for path in of_folder(path)? {
                    files.add(graph, &path)?;
                }
            } else {
                files.add(graph, path)?;
            }
        }
        Ok(files)
    }

    fn add(&mut self, graph: &Graph, path: &Path) -> Result<(), FilesError> {
        let io = |source| FilesError::Io { path: path.to_path_buf(), source };
        std::fs::metadata(path).map_err(io)?;
        let content = |reason: String| FilesError::Content { path: path.to_path_buf(), reason };
        match kind(path) {
            Some(Kind::Picture) => {
                let (name, ty) = only_input(graph, path)?;
                let no_picture = || FilesError::NoPicture { path: path.into(), input: name.into(), ty: ty.clone() };
                self.extents = picture_extents(ty).ok_or_else(no_picture)?;
                self.input = name.to_owned();
                self.entries.push(Entry::Picture(path.to_path_buf()));
            }
            Some(Kind::Array) => {
                let (name, _) = only_input(graph, path)?;
                let array = npy::read(path).map_err(|e| content(e.to_string()))?;
                self.add_arrays(graph, path, HashMap::from([(name.to_owned(), array)]))?;
            }
            Some(Kind::Arrays) => {
                let arrays = npz::read(path).map_err(|e| content(e.to_string()))?;
                self.add_arrays(graph, path, arrays)?;
            }
            None => return Err(FilesError::Kind { path: path.to_path_buf() }),
        }
        Ok(())
    }

    /// Adds the inputs that arrays hold, one or several.
    fn add_arrays(&mut self, graph: &Graph, path: &Path, mut arrays: Inputs) -> Result<(), FilesError> {
        let content = |reason: String| FilesError::Content { path: path.to_path_buf(), reason };
        let mut lists: Vec<(&str, Vec<Tensor>)> = Vec::new();
        for value in graph.inputs().iter().map(|&id| graph.value(id)) {
            let Some(array) = arrays.remove(&value.name) else {
                let found: Vec<&str> = arrays.keys().map(String::as_str).collect();
                let hint = crate::names::suggest(&crate::names::closest(&value.name, found));
                return Err(content(format!("it has no array for input `{}` ({}){hint}", value.name, value.ty)));
            };
            let wrong = || FilesError::Type {
                path: path.to_path_buf(),
                input: value.name.clone(),
                found: array.ty(),
                expected: value.ty.clone(),
            };
            lists.push((&value.name, parts(&array, &value.ty).ok_or_else(wrong)?));
        }
        let count = lists.first().map_or(0, |(_, list)| list.len());
        if let Some((name, list)) = lists.iter().find(|(_, list)| list.len() != count) {
            let first = lists[0].0;
            return Err(content(format!("it has {count} of input `{first}` and {} of `{name}`", list.len())));
        }
        for i in 0..count {
            let inputs = lists.iter().map(|(name, list)| ((*name).to_owned(), list[i].clone())).collect();
            self.entries.push(Entry::Arrays(format!("{i} of `{}`", path.display()), inputs));
        }
        Ok(())
    }
}

impl Samples for Files {
    fn count(&self) -> usize {
        self.entries.len()
    }

    fn get(&self, index: usize) -> Result<Cow<'_, Inputs>, SampleError> {
        match &self.entries[index] {
            Entry::Picture(path) => {
                let (height, width) = self.extents;
                let pixels = Frame::read(path)?.pixel_values(height, width);
                Ok(Cow::Owned(HashMap::from([(self.input.clone(), pixels)])))
            }
            Entry::Arrays(_, inputs) => Ok(Cow::Borrowed(inputs)),
        }
    }

    fn label(&self, index: usize) -> String {
        match &self.entries[index] {
            Entry::Picture(path) => format!("`{}`", path.display()),
            Entry::Arrays(label, _) => label.clone(),
        }
    }
}

enum Kind {
    Picture,
    Array,
    Arrays,
}

fn kind(path: &Path) -> Option<Kind> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "png" | "jpg" | "jpeg" => Some(Kind::Picture),
        "npy" => Some(Kind::Array),
        "npz" => Some(Kind::Arrays),
        _ => None,
    }
}

fn of_folder(folder: &Path) -> Result<Vec<PathBuf>, FilesError> {
    let io = |source| FilesError::Io { path: folder.to_path_buf(), source };
    let entries = std::fs::read_dir(folder).map_err(io)?;
    let mut paths = entries.map(|entry| entry.map(|e| e.path())).collect::<Result<Vec<_>, _>>().map_err(io)?;
    paths.retain(|path| path.is_file() && kind(path).is_some());
    paths.sort();
    if paths.is_empty() { Err(FilesError::Empty { path: folder.to_path_buf() }) } else { Ok(paths) }
}

fn only_input<'a>(graph: &'a Graph, path: &Path) -> Result<(&'a str, &'a Type), FilesError> {
    let values: Vec<_> = graph.inputs().iter().map(|&id| graph.value(id)).collect();
    if let [value] = values[..] {
        return Ok((&value.name, &value.ty));
    }
    let names: Vec<String> = values.iter().map(|value| format!("`{}`", value.name)).collect();
    let inputs = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Err(FilesError::OneOfSeveral { path: path.to_path_buf(), inputs })
}

/// The tensors of a type that an array is, or that lie along its first axis.
fn parts(array: &Tensor, ty: &Type) -> Option<Vec<Tensor>> {
    if array.ty() == *ty {
        return Some(vec![array.clone()]);
    }
    if array.dtype() != ty.dtype {
        return None;
    }
    let shape = array.shape();
    let stacked = shape.len() == ty.shape.len() + 1 && shape[1..] == ty.shape[..];
    let longer = shape.len() == ty.shape.len() && ty.shape.first() == Some(&1) && shape[1..] == ty.shape[1..];
    if !(stacked || longer) {
        return None;
    }
    let part = |i: usize| -> Tensor {
        each_tensor!(array, a => {
            let part = a.index_axis(Axis(0), i);
            let part = if longer { part.insert_axis(Axis(0)) } else { part };
            part.to_owned().into()
        })
    };
    Some((0..shape[0]).map(part).collect())
}
