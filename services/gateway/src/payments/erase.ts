import { command } from '@penstock/kernel/process.ts'
import { DAY_MS } from '@penstock/kernel/time.ts'
import type { EnvironmentTarget } from '@penstock/contracts/payments/environment.ts'
import type { Views } from '@penstock/ports/views.ts'
import { type SelectQueryBuilder, sql } from 'kysely'
import type { PrunePorts } from '../area.ts'
import type { ServiceKeyTables } from './keys/tables.ts'
import type { EndpointTables } from './webhooks/tables.ts'
import { type ErasureTables, withPaymentsTables } from './views/tables.ts'
import type { TransactionView } from '@penstock/contracts/payments/transaction-view.ts'

type Db = Pick<Views, 'db'>
type Erasure = ErasureTables['gateway_payments_erasures']
type ContentErasure = Erasure & { readonly kind: 'environment' | 'wallet' }

/** A transaction that was in progress when its wallet was deleted appears in the read model well within this time. */
const LATE_ROW_WINDOW_MS = DAY_MS
const PASS_INTERVAL_MS = DAY_MS
const PAGE_SIZE = 500

/**
 * Erases the texts of deleted environments and wallets, with a pass a day for each of them. An environment's texts include the
 * URLs and secrets of its webhook endpoints. The texts of an open transaction stay until the transaction has ended. The last
 * pass is the first without an open transaction a day after the deletion. Repeating a pass is harmless.
 */
export async function eraseDeletedContent(gateway: PrunePorts): Promise<void> {
  const due = withErasureTables(gateway.views)
    .selectFrom('gateway_payments_erasures')
    .selectAll()
    .where('due_at', '<=', gateway.clock.now())
    .limit(PAGE_SIZE)
  for (let erasures = await due.execute(); erasures.length > 0; erasures = await due.execute())
    for (const erasure of erasures)
      if (isContent(erasure)) await eraseContent(gateway, erasure)
      else await eraseRecord(gateway, erasure)
}

const isContent = (erasure: Erasure): erasure is ContentErasure => erasure.kind !== 'record'

async function eraseRecord({ views, records }: PrunePorts, { id }: Erasure): Promise<void> {
  await records.delete(id)
  await withErasureTables(views).deleteFrom('gateway_payments_erasures').where('id', '=', id).execute()
}

async function eraseContent({ views, records, clock }: PrunePorts, erasure: ContentErasure): Promise<void> {
  const now = clock.now()
  // This check precedes the reading of the texts, so the pass also finds a transaction that ends meanwhile.
  const isLast = erasure.at < now - LATE_ROW_WINDOW_MS && !(await hasOpenTransaction(views, erasure))
  for await (const recordIds of readTextRecords(views, erasure)) await records.delete(...recordIds)
  const db = withErasureTables(views)
  if (isLast) await db.deleteFrom('gateway_payments_erasures').where('id', '=', erasure.id).execute()
  else
    await db
      .updateTable('gateway_payments_erasures')
      .set({ due_at: now + PASS_INTERVAL_MS })
      .where('id', '=', erasure.id)
      .execute()
}

/** Requests the deletion of the environments of a deleted team. @returns whether there was one */
export async function deleteEnvironments(
  { views, send, ids }: Pick<PrunePorts, 'views' | 'send' | 'ids'>,
  teamId: string,
): Promise<boolean> {
  const environments = withPaymentsTables(views)
    .selectFrom('gateway_environments')
    .select(['id', 'created_at'])
    .where('team_id', '=', teamId)
    .where('deleted', '=', 0)
  let isFound = false
  for await (const page of readPages(environments))
    for (const { id } of page) {
      isFound = true
      const remove = command<EnvironmentTarget>('environment', id, { type: 'DeleteEnvironment', data: {} })
      await send(remove, { commandId: ids.uuid(), correlation: id })
    }
  return isFound
}

const withErasureTables = (views: Db) =>
  withPaymentsTables(views).$extendTables<ErasureTables & ServiceKeyTables & EndpointTables>()

const selectTransactions = (views: Db, { kind, id }: ContentErasure) =>
  withPaymentsTables(views)
    .selectFrom('gateway_transactions')
    .where(kind === 'wallet' ? 'wallet_id' : 'environment_id', '=', id)

async function hasOpenTransaction(views: Db, erasure: ContentErasure): Promise<boolean> {
  const open = await selectTransactions(views, erasure).select('id').where('status', '=', 'PENDING').limit(1).executeTakeFirst()
  return open !== undefined
}

/** Yields the ids of the records with the texts of deleted content, without those of open transactions. */
async function* readTextRecords(views: Db, erasure: ContentErasure): AsyncGenerator<readonly string[]> {
  const { kind, id } = erasure
  const db = withErasureTables(views)
  const columns = ['id', 'created_at', 'name_record'] as const
  const wallets = db.selectFrom('gateway_wallets').select(columns)
  if (kind === 'wallet') yield* readNames(wallets.where('id', '=', id))
  else {
    yield* readNames(db.selectFrom('gateway_environments').select(columns).where('id', '=', id))
    yield* readNames(wallets.where('environment_id', '=', id))
    yield* readNames(db.selectFrom('gateway_service_keys').select(columns).where('environment_id', '=', id))
    yield* readEndpointRecords(views, id)
  }
  // A duplicate of a send has no status, and has ended.
  const ended = selectTransactions(views, erasure).where(isEnded)
  for await (const page of readPages(ended.select(['id', 'created_at', 'view'])))
    // The projection writes the view from this type.
    yield page.map(({ view }) => (JSON.parse(view) as TransactionView).textRecord)
}

/** Yields the ids of the URLs and of all secrets of an environment's webhook endpoints. */
async function* readEndpointRecords(views: Db, environmentId: string): AsyncGenerator<readonly string[]> {
  const endpoints = withErasureTables(views)
    .selectFrom('gateway_endpoints')
    .select(['id', 'created_at', 'url_record', 'secret_records'])
    .where('environment_id', '=', environmentId)
  for await (const page of readPages(endpoints))
    // The projection wrote the list.
    yield page.flatMap(({ url_record, secret_records }) => [url_record, ...(JSON.parse(secret_records) as string[])])
}

/** The `case` prevents the use of an index by status, which has another order. */
const isEnded = sql<boolean>`case when status = 'PENDING' then 0 else 1 end = 1`

type Position = { readonly created_at: number; readonly id: string }

async function* readNames<Tables, Table extends keyof Tables>(
  rows: SelectQueryBuilder<Tables, Table, Position & { readonly name_record: string | null }>,
): AsyncGenerator<readonly string[]> {
  for await (const page of readPages(rows)) yield page.flatMap(({ name_record }) => name_record ?? [])
}

/** Yields the rows of a query, oldest first, a page at a time. */
async function* readPages<Tables, Table extends keyof Tables, Row extends Position>(
  rows: SelectQueryBuilder<Tables, Table, Row>,
): AsyncGenerator<readonly Row[]> {
  const [createdAt, rowId] = [sql.ref('created_at'), sql.ref('id')]
  for (let after: Position = { created_at: -1, id: '' }; ;) {
    const isAfter = sql<boolean>`(${createdAt}, ${rowId}) > (${after.created_at}, ${after.id})`
    const page = await rows.where(isAfter).orderBy(createdAt).orderBy(rowId).limit(PAGE_SIZE).execute()
    yield page
    const last = page.at(-1)
    if (!last || page.length < PAGE_SIZE) return
    after = last
  }
}
