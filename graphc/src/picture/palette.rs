//! Palettes: the names and colours of a network's classes.

use std::sync::LazyLock;

use crate::picture::PictureError;

/// A class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Red, green, blue.
    pub colour: [u8; 3],
}

/// The classes of a network; at most 256, the first with label 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Palette {
    classes: Vec<Class>,
}

/// Nineteen classes with the names and colours of Cityscapes.
pub static CITY19: LazyLock<Palette> = LazyLock::new(|| supplied(include_str!("../../palettes/city19.txt")));

/// The 150 classes of the drawn scenes.
pub static SCENE150: LazyLock<Palette> = LazyLock::new(|| supplied(include_str!("../../palettes/scene150.txt")));

fn supplied(text: &str) -> Palette {
    Palette::parse(text).expect("the project's own palettes are well written, as their test says")
}

impl Palette {
    /// Reads a palette: a line for each class in order, with its number, name and colour and tabs between them; columns before
    /// the colour may hold anything.
    ///
    /// # Errors
    /// [`PictureError::Palette`] names the line.
    pub fn parse(text: &str) -> Result<Self, PictureError> {
        let lines = text.lines().filter(|line| !line.trim().is_empty()).enumerate();
        let classes = lines.map(|(i, line)| {
            let fault = || PictureError::Palette { line: i + 1, text: line.to_owned() };
            class(i, line).filter(|_| i < 256).ok_or_else(fault)
        });
        Ok(Self { classes: classes.collect::<Result<_, _>>()? })
    }

    /// The supplied palette of a network with so many classes, or one made of colours that differ.
    pub fn of_classes(n_classes: usize) -> Self {
        [&*CITY19, &*SCENE150].into_iter().find(|palette| palette.len() == n_classes).cloned().unwrap_or_else(|| {
            let class = |i: usize| Class { name: format!("class {i}"), colour: spread(i) };
            Self { classes: (0..n_classes.min(256)).map(class).collect() }
        })
    }

    /// Number of classes.
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// The class of a label, if it has one.
    pub fn class(&self, label: u8) -> Option<&Class> {
        self.classes.get(usize::from(label))
    }

    /// The colour of a label; one without a class is white.
    pub fn colour(&self, label: u8) -> [u8; 3] {
        self.class(label).map_or([255; 3], |class| class.colour)
    }

    /// The name of a label; one without a class is called by its number.
    pub fn name(&self, label: u8) -> String {
        self.class(label).map_or_else(|| format!("class {label}"), |class| class.name.clone())
    }
}

/// One line of a palette; its number must be `i`.
fn class(i: usize, line: &str) -> Option<Class> {
    let columns: Vec<&str> = line.split('\t').map(str::trim).collect();
    let [number, name, .., colour] = columns[..] else { return None };
    let numbers = colour.strip_prefix('(')?.strip_suffix(')')?.split(',').map(|c| c.trim().parse().ok());
    let colour: Vec<u8> = numbers.collect::<Option<_>>()?;
    (number.parse() == Ok(i)).then_some(Class { name: name.to_owned(), colour: colour.try_into().ok()? })
}

/// A colour for each number, of which near ones differ: bits of the number, highest first, over the three channels.
fn spread(i: usize) -> [u8; 3] {
    let mut colour = [0; 3];
    for bit in 0..8 {
        colour[bit % 3] |= (((i + 1) >> bit & 1) as u8) << (7 - bit / 3);
    }
    colour
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn supplied_palettes() {
        assert_eq!((CITY19.len(), CITY19.name(13), CITY19.colour(13)), (19, "car".to_owned(), [0, 0, 142]));
        assert_eq!((SCENE150.len(), SCENE150.name(149)), (150, "bicycle/wheel".to_owned()));
        assert_eq!((CITY19.colour(200), CITY19.name(200)), ([255; 3], "class 200".to_owned()));
    }

    #[test]
    fn made_colours_differ() {
        let palette = Palette::of_classes(255);
        let colours: BTreeSet<[u8; 3]> = (0..255).map(|label| palette.colour(label)).collect();
        assert_eq!(colours.len(), 255);
        assert_eq!(Palette::of_classes(19), *CITY19);
    }

    #[test]
    fn faults_name_their_line() {
        for text in ["2\troad\t(1, 2, 3)", "1\troad", "1\troad\t(1, 2)", "1\troad\t(1, 2, 300)", "road"] {
            let text = format!("0\tsky\t(1, 2, 3)\n{text}");
            let error = Palette::parse(&text).unwrap_err().to_string();
            assert!(error.starts_with("palette, line 2: "), "{error}");
        }
    }
}
