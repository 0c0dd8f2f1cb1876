import type { Migration, Views } from '@penstock/ports/views.ts'
import type { CreateTableBuilder } from 'kysely'

/** The steps that create and change some tables. The name is unique across services, and a released step never changes. */
export type MigrationHistory = { readonly name: string; readonly steps: readonly Migration[] }

export type Columns = Readonly<Record<string, 'text' | 'text?' | 'int' | 'int?' | 'big' | 'big?'>>

const sqlTypes = { text: 'text', int: 'integer', big: 'bigint' } as const

/** Creates a table. The first column is the key, unless `key` lists others. */
export async function createTable(
  db: Views['db'],
  name: string,
  columns: Columns,
  key: readonly string[] = Object.keys(columns).slice(0, 1),
): Promise<void> {
  const emptyTable: CreateTableBuilder<string, string> = db.schema.createTable(name)
  const fullTable = Object.entries(columns).reduce((builder, [column, kind]) => {
    const isOptional = kind.endsWith('?')
    const type = sqlTypes[kind.replace('?', '') as keyof typeof sqlTypes] // a column's kind without its question mark
    return builder.addColumn(column, type, (definition) => (isOptional ? definition : definition.notNull()))
  }, emptyTable)
  await fullTable.addPrimaryKeyConstraint(`${name}_key`, [...key]).execute()
}

export const createIndex = (db: Views['db'], name: string, columns: readonly string[]): Promise<void> =>
  db.schema
    .createIndex(`${name}_by_${columns.join('_')}`)
    .on(name)
    .columns([...columns])
    .execute()
