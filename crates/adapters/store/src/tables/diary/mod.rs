//! A table for tests, written out completely: it shows the file that a new table needs here.

pub(crate) mod record;
mod tests;

use diesel::sql_types::{BigInt, Integer, Nullable, Text};

use self::record::DiaryPage;
use super::{Line, columns::columns, record::record_table};

columns! {
    in "diary" from (line: Line<'a>) {
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        environment: &'a str as Text = line.tenant.environment().as_str();
        id: &'a str as Text = &line.record::<DiaryPage>().id;
        text: &'a str as Text = &line.record::<DiaryPage>().text;
        mood: Option<i32> as Nullable<Integer> = line.record::<DiaryPage>().mood;
        written_at: i64 as BigInt = line.at.millis();
    }
}

record_table! {
    /// Diaries.
    Diary keeps DiaryPage
}
