//! A new table that is only inserted into takes five files, and works on both databases.

use std::path::{Path, PathBuf};

use diesel::{
    Connection as _, QueryableByName, SqliteConnection,
    connection::SimpleConnection as _,
    sql_query,
    sql_types::{BigInt, Integer, Nullable, Text},
};
use diesel_async::{AsyncConnection as _, AsyncPgConnection, SimpleAsyncConnection as _};
use quipu_commit::{Changes, Commit as _};
use quipu_kernel::{Environment, MerchantId, Tenant, Timestamp};
use tokio::runtime::{Handle, Runtime};

use super::record::DiaryPage;
use crate::{Store, StoreSettings};

const TENANT: Tenant = Tenant::new(MerchantId(7), Environment::Test);
const AT: Timestamp = Timestamp::from_millis(1_795_000_000_000);
const ALL: &str = "SELECT merchant_id, environment, id, text, mood, written_at FROM diary ORDER BY id";

#[derive(Debug, PartialEq, Eq, QueryableByName)]
struct Row {
    #[diesel(sql_type = BigInt)]
    merchant_id: i64,
    #[diesel(sql_type = Text)]
    environment: String,
    #[diesel(sql_type = Text)]
    id: String,
    #[diesel(sql_type = Text)]
    text: String,
    #[diesel(sql_type = Nullable<Integer>)]
    mood: Option<i32>,
    #[diesel(sql_type = BigInt)]
    written_at: i64,
}

/// Writes pages in one commit, and in another that is refused as a whole because one of its pages exists
/// already.
async fn write(store: &Store) {
    let page = |id: &str, mood| DiaryPage { id: id.to_owned(), text: format!("of {id}"), mood };
    let commit = async |pages: Vec<DiaryPage>| {
        let mut changes = Changes::new(TENANT, AT);
        for page in pages {
            changes.add(page);
        }
        store.commit(changes).await
    };
    commit(vec![page("monday", Some(3)), page("tuesday", None)]).await.expect("committed");
    commit(vec![page("wednesday", None), page("monday", None)]).await.expect_err("refused");
}

fn assert_written(found: &[Row]) {
    let row = |id: &str, mood| Row {
        merchant_id: 7,
        environment: "test".to_owned(),
        id: id.to_owned(),
        text: format!("of {id}"),
        mood,
        written_at: AT.millis(),
    };
    assert_eq!(found, [row("monday", Some(3)), row("tuesday", None)]);
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

async fn opened(url: String) -> Store {
    let store = Store::open(StoreSettings::new(url), Handle::current()).await.expect("the store opens");
    store.migrate().await.expect("migrated");
    store
}

#[test]
fn it_is_written_on_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("quipu.db");
    std::fs::write(&file, "").expect("an empty database");
    let mut conn = SqliteConnection::establish(file.to_str().expect("UTF-8")).expect("opened");
    runtime().block_on(async {
        let store = opened(format!("sqlite://{}", file.display())).await;
        conn.batch_execute(include_str!("sqlite.sql")).expect("made");
        write(&store).await;
        store.close().await;
    });
    let found = diesel::RunQueryDsl::load(sql_query(ALL), &mut conn).expect("read");
    assert_written(&found);
}

#[test]
fn it_is_written_on_postgresql() {
    let server = std::env::var("QUIPU_TEST_POSTGRES")
        .unwrap_or_else(|_| panic!("QUIPU_TEST_POSTGRES names no server; run `make test`, which starts one"));
    let name = format!("quipu_{}", uuid::Uuid::new_v4().simple());
    let (base, _) = server.rsplit_once('/').expect("a database");
    let url = format!("{base}/{name}");
    runtime().block_on(async {
        let mut conn = AsyncPgConnection::establish(&server).await.expect("the server answers");
        conn.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("a database");
        let store = opened(url.clone()).await;
        let mut conn = AsyncPgConnection::establish(&url).await.expect("the database answers");
        conn.batch_execute(include_str!("postgres.sql")).await.expect("made");
        write(&store).await;
        let found = diesel_async::RunQueryDsl::load(sql_query(ALL), &mut conn).await.expect("read");
        assert_written(&found);
        store.close().await;
    });
}

/// The files that name the table or its type, without these tests.
#[test]
fn it_takes_five_files() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut touched: Vec<_> = files(&source)
        .into_iter()
        .filter(|file| file.file_name().is_some_and(|name| name != "tests.rs"))
        .filter(|file| {
            let text = std::fs::read_to_string(file).expect("text");
            text.contains("diary") || text.contains("Diary")
        })
        .map(|file| file.strip_prefix(&source).expect("below").display().to_string())
        .collect();
    touched.sort();
    let expected = [
        "tables/diary/mod.rs",
        "tables/diary/postgres.sql",
        "tables/diary/record.rs",
        "tables/diary/sqlite.sql",
        "tables/mod.rs",
    ];
    assert_eq!(touched, expected);
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}
