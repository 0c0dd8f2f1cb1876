import type { Views } from '@penstock/ports/views.ts'
import type { Kysely } from 'kysely'
import { createTable, type MigrationHistory } from '../create-table.ts'

/** Sellers that LSPS1 publishes to wallets. `epoch`: a period of ten minutes. `uris`: addresses separated by spaces. */
type PublishedSellerTables = {
  gateway_lsp_sellers: { type: string; epoch: number; pubkey: string; place: number; uris: string }
}

export const withPublishedSellers = (views: Pick<Views, 'db'>): Kysely<PublishedSellerTables> =>
  views.db.$extendTables<PublishedSellerTables>()

export const publishedSellerMigrations: MigrationHistory = {
  name: 'gateway lsps1',
  steps: [
    (db) =>
      createTable(db, 'gateway_lsp_sellers', { type: 'text', epoch: 'int', pubkey: 'text', place: 'int', uris: 'text' }, [
        'type',
        'epoch',
        'pubkey',
      ]),
  ],
}
