import type { Views } from '@penstock/ports/views.ts'
import type { Kysely, Transaction } from 'kysely'
import { createIndex, createTable, type MigrationHistory } from '../create-table.ts'

/** Outcomes of commands that callers wait for; stored for a day. */
export type OutcomeTables = {
  gateway_commands: {
    id: string
    category: string
    aggregate_id: string
    revision: number | null
    code: string | null
    message: string | null
    at: number
  }
}

export const withOutcomeTable = (views: Pick<Views, 'db'>): Kysely<OutcomeTables> => views.db.$extendTables<OutcomeTables>()
export const withOutcomeTableIn = (trx: Transaction<object>): Transaction<OutcomeTables> => trx.$extendTables<OutcomeTables>()

export const outcomeMigrations: MigrationHistory = {
  name: 'gateway commands',
  steps: [
    async (db) => {
      await createTable(db, 'gateway_commands', {
        id: 'text',
        category: 'text',
        aggregate_id: 'text',
        revision: 'int?',
        code: 'text?',
        message: 'text?',
        at: 'big',
      })
      await createIndex(db, 'gateway_commands', ['at'])
    },
  ],
}
