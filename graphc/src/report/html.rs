//! A page that stands alone: tables, drawings and pictures in one file, nothing from the network and no script.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::RgbImage;
use iss::isa::Class;

use crate::picture::to_png;
use crate::report::{Table, svg, tables};
use crate::run::report::RunReport;

const STYLE: &str = "
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 78rem; padding: 0 1rem; }
h2 { margin-top: 2.2rem; border-bottom: 1px solid #8886; } h3 { margin: 1.4rem 0 .3rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: .15rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #8883; }
th.word, td.word { text-align: left; } td.word { overflow-wrap: anywhere; }
.wide { overflow-x: auto; } figure { margin: 1rem 0; } img { max-width: 100%; height: auto; }
.key span { display: inline-block; width: .9em; height: .9em; margin: 0 .3em 0 1em; vertical-align: -.1em; }
";

/// A page in the making.
#[derive(Debug, Clone)]
pub struct Page {
    text: String,
}

impl Page {
    /// A page with a title.
    pub fn new(title: &str) -> Self {
        let title = escape(title);
        let head = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
             <style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n"
        );
        Self { text: head }
    }

    /// Begins a chapter.
    pub fn chapter(&mut self, title: &str) {
        let _ = writeln!(self.text, "<h2>{}</h2>", escape(title));
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.text, "<p>{}</p>", escape(text));
    }

    /// Adds a picture, which the page holds as PNG.
    pub fn picture(&mut self, caption: &str, picture: &RgbImage) {
        self.png(caption, &to_png(picture));
    }

    /// Adds a picture that is the bytes of a PNG file.
    pub fn png(&mut self, caption: &str, file: &[u8]) {
        let (data, caption) = (STANDARD.encode(file), escape(caption));
        let _ = writeln!(
            self.text,
            "<figure><img alt=\"{caption}\" src=\"data:image/png;base64,{data}\"><figcaption>{caption}</figcaption></figure>"
        );
    }

    /// Adds a table, unless it has no rows.
    pub fn table(&mut self, table: &Table) {
        if table.rows.is_empty() {
            return;
        }
        let has_bars = table.rows.iter().any(|row| !row.bar.is_empty());
        let class = |i: usize| if i < table.n_words { " class=\"word\"" } else { "" };
        let _ = write!(self.text, "<h3>{}</h3>\n<div class=\"wide\"><table><tr>", escape(table.title));
        for (i, column) in table.columns.iter().enumerate() {
            let _ = write!(self.text, "<th{}>{}</th>", class(i), escape(column));
        }
        self.text += if has_bars { "<th></th></tr>\n" } else { "</tr>\n" };
        for row in &table.rows {
            self.text += "<tr>";
            for (i, cell) in row.cells.iter().enumerate() {
                let _ = write!(self.text, "<td{}>{}</td>", class(i), escape(cell));
            }
            if has_bars {
                let _ = write!(self.text, "<td class=\"word\">{}</td>", svg::bar(row));
            }
            self.text += "</tr>\n";
        }
        self.text += "</table></div>\n";
    }

    /// Adds all that is known of a run.
    pub fn run(&mut self, report: &RunReport) {
        self.table(&tables::module(report));
        self.table(&tables::tensors(report));
        self.key();
        self.table(&tables::classes(&report.figures));
        self.table(&tables::stalls(&report.figures));
        self.table(&tables::kernels(report));
        self.table(&tables::bytes(report));
        self.table(&tables::edits(report));
        self.table(&tables::operators(report));
        self.table(&tables::arithmetic(report));
        self.table(&tables::energy(report));
        if let Some(map) = svg::memory(report) {
            let _ = writeln!(
                self.text,
                "<h3>on-chip memory at kernel boundaries, kernel by kernel</h3>\n<div class=\"wide\">{map}</div>"
            );
        }
        self.table(&tables::memory(report));
        for note in &report.notes {
            self.paragraph(&format!("note: {note}"));
        }
    }

    /// What the colours of bars mean.
    fn key(&mut self) {
        self.text += "<p class=\"key\">classes of cycles:";
        for class in Class::ALL {
            let _ = write!(self.text, "<span style=\"background:{}\"></span>{class}", svg::colour(Some(class)));
        }
        self.text += "</p>\n";
    }

    /// The page.
    pub fn finish(self) -> String {
        self.text + "</body></html>\n"
    }
}

/// A text with what HTML would read as its own written out.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
