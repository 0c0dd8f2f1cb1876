import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { audit } from '@penstock/runtime/audit.ts'
import { openPepper } from '@penstock/runtime/pepper.ts'
import { audited } from '@penstock/standalone/services.ts'
import { until } from '@penstock/testkit/until.ts'
import type { TestCluster } from '../../harness/cluster.ts'
import { type Book, booksOf } from '../books.ts'
import { crashes } from '../crashes.ts'
import type { Fold } from '../fold.ts'
import { marketMsat, recordFaults, walletFaults } from '../look.ts'
import { networkOf } from '../network.ts'
import { differencesFromFold, type ReadRows, unread } from '../read-models.ts'
import { atRest } from '../rest.ts'
import { truthOf } from '../truth.ts'
import type { Wait } from '../waiting.ts'
import { sql } from 'kysely'

export type ClusterLook = { readonly books: readonly Book[]; readonly waits: readonly Wait[]; readonly faults: readonly string[] }

const REST_WITHIN_MS = 150_000
const PATIENCE_MS = 10_000
/** A consumer that hangs without a word is made anew after two minutes. */
const READ_WITHIN_MS = 150_000
const QUIET_WITHIN_MS = 240_000
/** What all processes said. */
const SAID = 'said.log'

/** Lets everything come to rest, and looks at all that the cluster keeps: facts, money, read models, processes. */
export async function lookAtCluster(
  cluster: TestCluster,
  { store, fold, beforeMsat }: { readonly store: EventStore; readonly fold: Fold; readonly beforeMsat: bigint },
): Promise<ClusterLook> {
  const answers = (ask: () => Promise<unknown>) => () =>
    ask().then(
      () => true,
      () => false,
    )
  await until(
    'the gateways answer',
    answers(() => marketMsat(cluster)),
    60_000,
    250,
  )
  await until(
    'the store answers',
    answers(() => fold.catchUp()),
    60_000,
    250,
  )
  const waits = await atRest({
    fold,
    truthNow: async () => truthOf(cluster.dataDir),
    mine: async (most) => most > 0 && cluster.operator('POST', '/sim/mine', { blocks: Math.min(most, 3) }),
    decide: (order, decision) => cluster.operator('POST', `/payouts/${order}/decide`, decision),
    mineAfterMs: PATIENCE_MS,
    withinMs: REST_WITHIN_MS,
  })
  const readFaults = await readModels(cluster, fold)
  const { truth, wealth, balances } = await networkOf(cluster)
  const gainedMsat = (balances.get('market') ?? 0n) - beforeMsat
  const parked = await cluster.operator<readonly object[]>('GET', '/parked')
  const audits = await audit(store, audited(), {})
  const books = booksOf(fold.events)
  const faults = [
    ...recordFaults({ waits, books, parked, audited: audits }),
    ...walletFaults({ books, truth, gainedMsat, wealth, balances }),
    ...readFaults,
    ...crashes(cluster.lines),
  ]
  // The data stay where there is one, and this beside them.
  if (faults.length > 0) writeFileSync(join(cluster.dataDir, SAID), cluster.lines.join('\n'))
  return { books, waits, faults }
}

/** What read models still lack after a while they will never have. While facts come on, rows may be ahead of the fold. */
async function readModels({ postgresUrl, dataDir }: TestCluster, fold: Fold): Promise<readonly string[]> {
  const views = openPostgresViews({ url: postgresUrl, schema: 'check' })
  try {
    const rows: ReadRows = async (text) => (await sql.raw<Record<string, unknown>>(text).execute(views.db)).rows
    const pepper = await openPepper(dataDir)
    const begun = performance.now()
    for (;;) {
      await fold.catchUp()
      const faults = [...(await unread(rows, fold.events)), ...(await differencesFromFold(rows, pepper, fold.events))]
      const known = fold.events.length
      await fold.catchUp()
      const waited = performance.now() - begun
      const isOver = waited > (fold.events.length === known ? READ_WITHIN_MS : QUIET_WITHIN_MS)
      if (faults.length === 0 || isOver) return faults
      await sleep(1000)
    }
  } finally {
    await views.close()
  }
}
