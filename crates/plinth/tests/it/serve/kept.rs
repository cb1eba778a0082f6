//! A snapshot of an installation, with the hashes of all objects and the text of all rows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use plinth_testkit::{Postgres, postgres, python, sha256_hex};

use super::server::Installation;
use crate::text;

const SQLITE: &str = r#"
import json, sqlite3, sys
db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
db.execute("BEGIN")
names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()]
for name in names:
    for row in db.execute(f'SELECT * FROM "{name}"'):
        print(name, json.dumps([value.hex() if isinstance(value, bytes) else value for value in row]))
"#;
const POSTGRES: &str = "SELECT format('SELECT %L, to_jsonb(t) FROM %I t;', tablename, tablename) FROM pg_tables \
                        WHERE schemaname = 'public' \\gexec";

/// Tables whose rows change without a request of a test: counters, reports and requests change with the rows of other
/// tables, and servers store the time in `instance` every few seconds.
pub(in crate::serve) const COUNTERS: [&str; 9] = [
    "instance ",
    "outcomes ",
    "workers ",
    "storage ",
    "previews ",
    "render_counts ",
    "render_count_changes ",
    "render_hours ",
    "render_hour_changes ",
];

/// A snapshot of an installation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// Hashes of the objects, by path.
    pub(super) objects: BTreeMap<String, String>,
    /// Texts of the rows. Each text begins with the name of the table.
    pub(super) rows: BTreeSet<String>,
}

impl Kept {
    /// Takes a snapshot. Reads the rows in one transaction first, then the objects.
    pub(super) fn at(installation: &Installation) -> Self {
        let rows = match &installation.postgres {
            Some(server) => postgres_rows(server),
            None => sqlite_rows(&installation.folder.path().join("data/plinth.db")),
        };
        let mut objects = BTreeMap::new();
        walk(&installation.objects(), "", &mut objects);
        Self { objects, rows }
    }

    /// Returns the number of rows of a table.
    pub(super) fn count(&self, table: &str) -> usize {
        self.rows.iter().filter(|row| row.starts_with(&format!("{table} "))).count()
    }
}

fn sqlite_rows(file: &Path) -> BTreeSet<String> {
    lines(Command::new(python()).args(["-c", SQLITE]).arg(file))
}

fn postgres_rows(server: &Postgres) -> BTreeSet<String> {
    // The statements are in a script, because `\gexec` generates one statement per table and works only in scripts.
    let script = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(script.path(), POSTGRES).unwrap();
    let mut psql = Command::new(postgres().join("psql"));
    psql.args(["-X", "-A", "-t", "-F", " ", "-v", "ON_ERROR_STOP=1", "-d", &server.address(), "-f"]);
    lines(psql.arg(script.path()))
}

fn lines(command: &mut Command) -> BTreeSet<String> {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    text(&done.stdout).lines().map(str::to_owned).collect()
}

fn walk(folder: &Path, path: &str, found: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = format!("{path}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            walk(&entry.path(), &format!("{name}/"), found);
        } else if let Ok(bytes) = std::fs::read(entry.path()) {
            found.insert(name, sha256_hex(&bytes));
        }
    }
}
