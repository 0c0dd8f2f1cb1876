import type { DatabaseSync, SQLInputValue } from 'node:sqlite'

const ROWS_PER_STATEMENT = 32

/** Collects rows of one table and inserts many per statement, because a call of SQLite costs more than a row. */
export function createBatchInsert(db: DatabaseSync, table: string, columns: readonly string[]) {
  const into = `insert into ${table} (${columns.join(', ')}) values `
  const row = `(${columns.map(() => '?').join(', ')})`
  const insertRow = db.prepare(into + row)
  const insertRows = db.prepare(into + Array(ROWS_PER_STATEMENT).fill(row).join(', '))
  let values: SQLInputValue[] = []

  return {
    /** Adds a row. The values have the order of the columns. */
    add: (...rowValues: readonly SQLInputValue[]): void => {
      values.push(...rowValues)
    },
    /** Inserts the collected rows. Call it before the commit, and before the transaction reads the table. */
    flush: (): void => {
      if (values.length === 0) return
      const all = values
      values = []
      const chunk = ROWS_PER_STATEMENT * columns.length
      let from = 0
      for (; from + chunk <= all.length; from += chunk) insertRows.run(...all.slice(from, from + chunk))
      for (; from < all.length; from += columns.length) insertRow.run(...all.slice(from, from + columns.length))
    },
    /** Drops the collected rows after a rollback. */
    discard: (): void => {
      values = []
    },
  }
}
