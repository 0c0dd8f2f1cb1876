import type { DatabaseSync, SQLInputValue } from 'node:sqlite'

const ROWS = 32

/** Collects rows of one table and inserts many with one statement: the way into SQLite costs more than the row. */
export function batchInsert(db: DatabaseSync, table: string, columns: readonly string[]) {
  const into = `insert into ${table} (${columns.join(', ')}) values `
  const row = `(${columns.map(() => '?').join(', ')})`
  const one = db.prepare(into + row)
  const many = db.prepare(into + Array(ROWS).fill(row).join(', '))
  let values: SQLInputValue[] = []

  return {
    /** Takes a row's values, in the order of the columns. */
    add: (...rowValues: readonly SQLInputValue[]): void => {
      values.push(...rowValues)
    },
    /** Before the commit, and before anything in the transaction reads the table. */
    flush: (): void => {
      if (values.length === 0) return
      const all = values
      values = []
      const chunk = ROWS * columns.length
      let from = 0
      for (; from + chunk <= all.length; from += chunk) many.run(...all.slice(from, from + chunk))
      for (; from < all.length; from += columns.length) one.run(...all.slice(from, from + columns.length))
    },
    /** After a rollback. */
    drop: (): void => {
      values = []
    },
  }
}
