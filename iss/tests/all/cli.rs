//! The command `iss`: each subcommand with good and with bad input.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

const FIRST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/programs/first.s");

/// A folder with the files of one test, in which the command runs.
struct Dir(TempDir);

impl Dir {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.path(name), bytes).unwrap();
        self
    }
    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
    fn files(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = names.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
    fn iss(&self, args: &[&str]) -> Output {
        self.iss_with(args, b"")
    }
    fn iss_with(&self, args: &[&str], input: &[u8]) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_iss"))
            .args(args)
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that reads no input may be gone already.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    }
    /// Standard output of a command that must do its work.
    #[track_caller]
    fn done(&self, args: &[&str]) -> String {
        let out = self.iss(args);
        assert_eq!(out.status.code(), Some(0), "{args:?}: {}", text(&out.stderr));
        text(&out.stdout)
    }
    /// Standard error of a command that must end with `code`.
    #[track_caller]
    fn fails(&self, code: i32, args: &[&str]) -> String {
        let out = self.iss(args);
        assert_eq!(out.status.code(), Some(code), "{args:?}: {}{}", text(&out.stdout), text(&out.stderr));
        text(&out.stderr)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[track_caller]
fn holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
}

#[test]
fn first_program_runs_as_the_readme_says() {
    let out = Dir::new().done(&["run", FIRST, "--profile"]);
    holds(&out, &["halted after ", "QC-U_1d7_16MB", "Stall[DMA]", "compute"]);
}

#[test]
fn first_program_computes_what_it_says() {
    let dir = Dir::new();
    let x: Vec<u8> = (0..1024u32).map(|i| (i * 37 % 256) as u8).collect();
    dir.write("x.bin", &x);
    let args = ["run", FIRST, "--entry", "tile", "--input", "x=x.bin", "--input", "bias=-0x11", "--output", "y=y.bin"];
    dir.done(&args);
    let expected: Vec<u8> = x.iter().map(|x| (*x as i8 as i32 - 17).clamp(0, 127) as u8).collect();
    assert_eq!(dir.read("y.bin"), expected);
    dir.done(&["run", FIRST, "--output", "y=y.bin"]);
    let demo: Vec<u8> = (0..1024).map(|i| (i / 32 + i % 32 - 32 + 5).clamp(0, 127) as u8).collect();
    assert_eq!(dir.read("y.bin"), demo);
}

#[test]
fn assembles_and_disassembles_to_the_same_image() {
    let dir = Dir::new();
    dir.done(&["asm", FIRST, "-o", "a.img"]);
    let listing = dir.done(&["disasm", "a.img"]);
    dir.write("b.s", &listing).done(&["asm", "b.s", "-o", "b.img"]);
    assert_eq!(dir.read("a.img"), dir.read("b.img"));
    dir.done(&["disasm", "a.img", "--cycles", "-o", "c.s"]);
    holds(&text(&dir.read("c.s")), &["max a0, a0, #0", "4a00"]);
    let piped = dir.iss_with(&["asm", "-", "-o", "-"], listing.as_bytes());
    assert_eq!(piped.stdout, dir.read("a.img"));
    assert_eq!(dir.iss_with(&["disasm", "-"], &piped.stdout).stdout, listing.as_bytes());
    assert_eq!(dir.files(), ["a.img", "b.img", "b.s", "c.s"]);
}

#[test]
fn a_failed_assembly_leaves_what_was_there() {
    let dir = Dir::new();
    dir.write("bad.s", "nop\n ad a0, [16], #1\n").write("a.img", "precious");
    let error = dir.fails(1, &["asm", "bad.s", "-o", "a.img"]);
    holds(&error, &["error: cannot assemble `bad.s`", "line 2, column 2", "did you mean `add`?"]);
    assert_eq!(dir.read("a.img"), b"precious");
    let error = dir.fails(1, &["asm", FIRST, "-o", "no/such/folder.img"]);
    holds(&error, &["cannot write `no/such/folder.img`"]);
    assert_eq!(dir.files(), ["a.img", "bad.s"]);
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_devices_stay() {
    let dir = Dir::new();
    dir.write("real.img", "old");
    std::os::unix::fs::symlink("real.img", dir.path("link.img")).unwrap();
    dir.done(&["asm", FIRST, "-o", "link.img"]);
    assert!(std::fs::symlink_metadata(dir.path("link.img")).unwrap().is_symlink());
    assert_ne!(dir.read("real.img"), b"old");
    dir.done(&["asm", FIRST, "-o", "/dev/null"]);
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn reports_as_json_alone_on_standard_output() {
    let dir = Dir::new();
    let out = dir.iss(&["run", FIRST, "--json", "-", "--print", "a0", "--profile", "--break-region", "store"]);
    assert_eq!(out.status.code(), Some(0));
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((json["status"].as_str(), json["entry"].as_str()), (Some("stopped"), Some("main")));
    assert_eq!(json["values"][0]["operand"], "a0");
    assert_eq!(json["profile"]["cycles"], json["cycles"]);
    assert!(json["trap"].is_null());
    holds(&text(&out.stderr), &["stopped after ", "before pc ", "first.s:"]);
}

#[test]
fn stops_where_it_is_told_to() {
    let dir = Dir::new();
    let line = text(&std::fs::read(FIRST).unwrap()).lines().position(|l| l.contains("max a0")).unwrap() + 1;
    holds(
        &dir.done(&["run", FIRST, "--break-line", &format!("first.s:{line}"), "--print", "a0"]),
        &["a0\n", "before pc 25 `max a0, a0, #0`"],
    );
    holds(&dir.done(&["run", FIRST, "--break-pc", "25"]), &["before pc 25 `max a0, a0, #0`"]);
    holds(&dir.done(&["run", FIRST, "--break-cycle", "0"]), &["stopped after 0 cycles, 0 instructions"]);
    holds(
        &dir.done(&["run", FIRST, "--break-cycle", "99999"]),
        &["halted after ", "without coming to where it should stop"],
    );
    holds(
        &dir.fails(1, &["run", FIRST, "--break-line", "other.s:3"]),
        &["no instruction comes from `other.s`", "first.s"],
    );
    holds(&dir.fails(1, &["run", FIRST, "--break-region", "stroe"]), &["no region is called `stroe`"]);
    holds(&dir.fails(1, &["run", FIRST, "--break-pc", "9999"]), &["pc 9999; the program has"]);
    dir.fails(1, &["run", FIRST, "--break-pc", "1", "--break-cycle", "1"]);
    dir.fails(1, &["run", FIRST, "--break-pc", "1", "--trace", "-"]);
}

#[test]
fn writes_timeline_trace_and_picture() {
    let dir = Dir::new();
    dir.done(&["run", FIRST, "--timeline", "t.json", "--trace", "t.txt", "--png", "[4].b=y.png"]);
    let timeline: serde_json::Value = serde_json::from_slice(&dir.read("t.json")).unwrap();
    assert!(timeline["traceEvents"].as_array().unwrap().len() > 5);
    let trace = text(&dir.read("t.txt"));
    assert_eq!(trace.lines().count() as u64, instructions(&dir.done(&["run", FIRST])));
    holds(&trace, &["max a0, a0, #0  ; ", "first.s:"]);
    assert!(dir.read("y.png").starts_with(b"\x89PNG"));
    let traced = dir.iss(&["run", FIRST, "--trace", "-"]);
    assert_eq!(text(&traced.stdout), trace, "the trace is alone on standard output");
}

/// Of `halted after N cycles, M instructions`.
fn instructions(ending: &str) -> u64 {
    let words: Vec<&str> = ending.split_whitespace().collect();
    words[words.len() - 2].parse().unwrap()
}

#[test]
fn paths_and_threads_give_the_same() {
    let dir = Dir::new();
    let one = dir.done(&["run", FIRST, "--simd", "portable", "--threads", "1", "--print", "[4].b"]);
    assert_eq!(dir.done(&["run", FIRST, "--threads", "2", "--print", "[4].b"]), one);
    holds(&dir.fails(1, &["run", FIRST, "--simd", "mmx"]), &["mmx", "portable"]);
    dir.fails(1, &["run", FIRST, "--threads", "0"]);
}

#[test]
fn traps_and_limits_have_codes_of_their_own() {
    let dir = Dir::new();
    dir.write("trap.s", ".entry main\n.param y ocm out 4 s8\nregion \"r\"\ntrap \"no luck\"\n");
    let error = dir.fails(2, &["run", "trap.s", "--output", "y=y.bin", "--json", "r.json"]);
    holds(&error, &["trap: the program stopped itself: no luck", "trap.s:4", "in r", "no output was written"]);
    let json: serde_json::Value = serde_json::from_slice(&dir.read("r.json")).unwrap();
    assert_eq!((json["status"].as_str(), json["trap"]["cause"].as_str()), (Some("trap"), Some("program")));
    assert!(!dir.path("y.bin").exists());
    dir.write("spin.s", ".entry main\ntop: jump @top\n");
    let error = dir.fails(3, &["run", "spin.s", "--max-cycles", "1000"]);
    holds(&error, &["limit: limit of 1000 cycles reached", "help: --max-cycles raises the limit"]);
}

/// The border is shown where neighbours make it matter.
#[test]
fn borders_are_set_off() {
    let dir = Dir::new();
    dir.write("b.s", ".target QC-U:array=1x2,border=1\n.entry main\nmov a0, q_col\nsend e, a0\nhalt\n");
    holds(&dir.done(&["run", "b.s", "--print", "port.w"]), &["      -1 |   0   1 |   2\n   0   0 |  -1   0 |   1\n"]);
}

#[test]
fn probes_are_grids() {
    let dir = Dir::new();
    dir.write("p.s", ".target QC-U:array=2x3,border=0\n.entry main\nadd a0, q_row, q_col\nprobe \"sum\", a0\nhalt\n");
    let out = dir.done(&["run", "p.s"]);
    let expected = "\
probe `sum` at cycle 1, pc 1
       0   1   2
   0   0   1   2
   1   1   2   3
halted after 2 cycles, 3 instructions
";
    assert_eq!(out, expected);
}

#[test]
fn wrong_inputs_name_the_thing_and_the_cure() {
    let dir = Dir::new();
    dir.write("short.bin", [0; 3]).write("foreign.img", b"GIF89a..").write("none.s", "halt\n");
    dir.write("two.s", ".entry a\nhalt\n.entry b\nhalt\n").write("binary.s", b"\xff\xfe");
    dir.done(&["asm", FIRST, "-o", "good.img"]);
    let mut cut = dir.read("good.img");
    cut.truncate(cut.len() - 1);
    dir.write("cut.img", &cut);
    let tile = ["run", FIRST, "--entry", "tile"];
    let check = |args: &[&str], parts: &[&str]| {
        let error = dir.fails(1, args);
        holds(&error, parts);
        assert!(error.starts_with("error: "), "{error}");
    };
    check(&["run", "absent.s"], &["cannot read `absent.s`", "No such file"]);
    check(&["disasm", "absent.img"], &["cannot read `absent.img`"]);
    check(&["run", "foreign.img"], &["`foreign.img`", "no program image", "help: `iss asm`"]);
    check(&["run", "cut.img"], &["`cut.img`", "the file has"]);
    check(&["run", "binary.s"], &["`binary.s` is not text"]);
    check(&["run", "none.s"], &["has no entry point", "help: write `.entry main`"]);
    check(&["run", "two.s"], &["several entry points", "help: choose with --entry one of `a`, `b`"]);
    check(&["run", FIRST, "--entry", "mian"], &["no entry point `mian`; it has `main`, `tile`"]);
    check(&tile, &["parameter `x` of `tile` was not given", "--input x=FILE (1024 bytes)", "--input bias=INT"]);
    let with = |more: &[&'static str]| [&tile[..], more].concat();
    check(&with(&["--input", "x=short.bin", "--input", "bias=1"]), &["takes 1024 bytes, not 3"]);
    check(&with(&["--input", "x=absent", "--input", "bias=1"]), &["--input x=absent", "cannot read `absent`"]);
    check(&with(&["--input", "bias=1.5"]), &["`1.5` is not a 32-bit number"]);
    check(&with(&["--input", "bias=4294967296"]), &["`4294967296` is not a 32-bit number"]);
    check(&with(&["--input", "z=1"]), &["no parameter `z`", "help: `tile` takes"]);
    check(&with(&["--output", "z=out"]), &["--output z=out: no such parameter"]);
    check(&with(&["--output", "bias=out"]), &["`bias` is a scalar"]);
    check(&["run", FIRST, "--input", "x"], &["expected a name, `=`"]);
    check(&["run", FIRST, "--print", "[4097]"], &["[4097]", "4097 is outside"]);
    check(&["run", FIRST, "--print", "a16"], &["a16"]);
    check(&["run", FIRST, "--print", "bc"], &["`bc`", "would change it"]);
    check(&["run", FIRST, "--png", "a0"], &["expected a name, `=`"]);
    check(&["run", FIRST, "--output", "y=no/such/y.bin"], &["cannot write `no/such/y.bin`"]);
    check(&["run", "good.img", "--break-line", "first.s:3"], &["no source lines", "help: `iss asm -g`"]);
    check(&["frobnicate"], &["frobnicate"]);
}

#[test]
fn reads_a_program_from_standard_input() {
    let dir = Dir::new();
    let out = dir.iss_with(&["run", "-"], b".entry main\nhalt\n");
    assert_eq!(text(&out.stdout), "halted after 1 cycles, 1 instructions\n");
}

#[test]
fn help_and_version_succeed() {
    let dir = Dir::new();
    holds(&dir.done(&["--help"]), &["calibrate", "asm", "disasm", "run", "bench", "isa", "target", "Exit codes"]);
    for command in ["calibrate", "asm", "disasm", "run", "bench", "isa", "target"] {
        holds(&dir.done(&[command, "--help"]), &["Usage: iss"]);
    }
    holds(&dir.done(&["--version"]), &["iss 0."]);
}

#[test]
fn isa_explains_an_instruction() {
    let dir = Dir::new();
    holds(&dir.done(&["isa", "fx_mul"]), &["`fx_mul dst, a, b, shift`", "Opcode `0x51`", "### Operand: shift"]);
    assert_eq!(dir.done(&["isa"]).lines().count(), iss::isa::Inst::MNEMONICS.len());
    holds(&dir.fails(1, &["isa", "fxmul"]), &["no instruction is called `fxmul`", "did you mean `fx_mul`?"]);
}

#[test]
fn target_prints_what_reads_back() {
    let dir = Dir::new();
    let target: iss::target::Target = "QC-U:ocm=8MB,fx_div=40".parse().unwrap();
    assert_eq!(iss::target::Target::from_toml(&dir.done(&["target", "QC-U:ocm=8MB,fx_div=40"])), Ok(target.clone()));
    assert_eq!(iss::target::Target::from_json(&dir.done(&["target", "QC-U:ocm=8MB,fx_div=40", "--json"])), Ok(target));
    holds(&dir.fails(1, &["target", "QC-U:ocm=8XB"]), &["error: target `QC-U:ocm=8XB`", "ocm"]);
}

#[test]
fn calibrate_prints_table_and_json() {
    let dir = Dir::new();
    holds(&dir.done(&["calibrate"]), &["QC-U, published figures", "QC-U-narrow, rows of our own", "322,818"]);
    let json: serde_json::Value = serde_json::from_str(&dir.done(&["calibrate", "--json"])).unwrap();
    let row = &json["rows"][0];
    assert_eq!((row["target"].as_str(), row["id"].as_str()), (Some("QC-U"), Some("1")));
    assert_eq!(row["published"], 322_818);
    assert!(row["simulated"].is_u64() && row["miss_pct"].is_f64());
}

/// A reader that goes away ends the command quietly.
#[test]
fn closed_pipe_is_no_failure() {
    for args in [&["isa"][..], &["run", FIRST, "--trace", "-"], &["run", FIRST, "--profile"], &["disasm", "a.img"]] {
        let dir = Dir::new();
        dir.done(&["asm", FIRST, "-o", "a.img"]);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let command = Command::new(env!("CARGO_BIN_EXE_iss"))
            .args(args)
            .current_dir(dir.0.path())
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn();
        let out = command.unwrap().wait_with_output().unwrap();
        assert_eq!(out.status.code(), Some(0), "{args:?}");
        assert!(!text(&out.stderr).contains("error"), "{args:?}: {}", text(&out.stderr));
    }
}

/// What happens to standard output changes neither the exit code nor the files.
#[test]
fn closed_pipe_hides_no_trap_and_no_file() {
    let dir = Dir::new();
    dir.write("trap.s", ".entry main\ntrap \"no luck\"\n");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_iss"));
    command.args(["run", "trap.s", "--profile", "--json", "r.json"]).current_dir(dir.0.path());
    let out = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(dir.path("r.json").exists());
}

#[test]
fn outputs_lie_where_nothing_else_does() {
    let dir = Dir::new();
    dir.write("p.s", ".entry main\n.param y ocm out 4 s8\nhalt\n");
    holds(&dir.fails(1, &["asm", "p.s", "-o", "./p.s"]), &["`./p.s`: the command reads it"]);
    holds(&dir.fails(1, &["run", "p.s", "--json", "p.s"]), &["the command reads it"]);
    holds(&dir.fails(1, &["run", "p.s", "--json", "r", "--output", "y=./r"]), &["another output"]);
    holds(&dir.fails(1, &["run", "p.s", "--json", "-", "--trace", "-"]), &["another output"]);
    dir.done(&["run", "p.s", "--json", "/dev/null", "--output", "y=/dev/null"]);
    assert_eq!(dir.files(), ["p.s"]);
}

#[cfg(unix)]
#[test]
fn endless_files_end_quickly() {
    let dir = Dir::new();
    holds(&dir.fails(1, &["run", "/dev/zero"]), &["no program image"]);
    holds(&dir.fails(1, &["disasm", "/dev/zero"]), &["no program image"]);
    holds(&dir.fails(1, &["asm", "/dev/zero", "-o", "a.img"]), &["has more than"]);
    let tile = ["run", FIRST, "--entry", "tile", "--input", "bias=1", "--input", "x=/dev/zero"];
    holds(&dir.fails(1, &tile), &["takes 1024 bytes; `/dev/zero` has more"]);
    let signed = ["run", FIRST, "--entry", "tile", "--input", "bias=0x-5"];
    holds(&dir.fails(1, &signed), &["`0x-5` is not a 32-bit number"]);
}

#[test]
fn limits_and_probes_have_options() {
    let dir = Dir::new();
    dir.write("spin.s", ".entry main\ntop: jump @top\n");
    let error = dir.fails(3, &["run", "spin.s", "--max-instructions", "10"]);
    holds(&error, &["limit of 10 instructions", "help: --max-instructions raises the limit"]);
    dir.write("p.s", ".entry main\nprobe \"a\", q_row\nprobe \"b\", q_row\nhalt\n");
    assert!(!dir.done(&["run", "p.s", "--max-probes", "1"]).contains("probe `b`"));
    assert!(!dir.done(&["run", "p.s", "--no-probes"]).contains("probe `a`"));
    holds(&dir.done(&["run", "--help"]), &["avx512vnni", "1 GiB", "2000000000"]);
}
