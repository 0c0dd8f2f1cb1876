import { setTimeout as sleep } from 'node:timers/promises'
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { audit } from '@penstock/runtime/audit.ts'
import { openPepper } from '@penstock/runtime/pepper.ts'
import { audited } from '@penstock/standalone/services.ts'
import { until } from '@penstock/testkit/until.ts'
import type { TestCluster } from '../../harness/cluster.ts'
import { type Book, booksOf } from '../books.ts'
import type { Fold } from '../fold.ts'
import { marketMsat, restOf } from '../look.ts'
import { moneyFaults } from '../money.ts'
import { orderFaults } from '../orders.ts'
import { differencesFromFold, type ReadRows } from '../read-models.ts'
import { truthOf } from '../truth.ts'
import { unnamed, type Wait } from '../waiting.ts'
import { sql } from 'kysely'

export type ClusterLook = { readonly books: readonly Book[]; readonly waits: readonly Wait[]; readonly faults: readonly string[] }

const REST_WITHIN_MS = 150_000
const PATIENCE_MS = 10_000
const LAST_WORDS = 8
const READ_WITHIN_MS = 30_000
const QUIET_WITHIN_MS = 120_000

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
  const waits = await atRest(fold, cluster)
  const readFaults = await readModels(cluster, fold)
  const gainedMsat = (await marketMsat(cluster)) - beforeMsat
  const parked = await cluster.operator<readonly object[]>('GET', '/parked')
  const audits = await audit(store, audited(), {})
  const books = booksOf(fold.events)
  const faults = [
    ...unnamed(waits),
    ...orderFaults(books, waits),
    ...(parked.length === 0 ? [] : [`parked: ${JSON.stringify(parked)}`]),
    ...(audits.divergences === 0 && audits.ledger_balanced ? [] : [`the audit found ${JSON.stringify(audits)}`]),
    ...moneyFaults(books, truthOf(cluster.dataDir), gainedMsat),
    ...readFaults,
    ...crashes(cluster.lines),
  ]
  return { books, waits, faults }
}

/** Processes that ended by themselves; one that is told to stop while its servers are away says so, and gives up. */
function crashes(lines: readonly string[]): readonly string[] {
  const gaveUp = new Set<string>()
  return lines.flatMap((line, index) => {
    const [name = ''] = line.split('  ')
    if (line.includes('did not stop in time')) gaveUp.add(name)
    if (!/ended with exit code [^0]/.test(line) || gaveUp.delete(name)) return []
    const said = lines.slice(0, index).filter((earlier) => earlier.startsWith(`${name}  `))
    return [`${said.slice(-LAST_WORDS).join('\n')}\n${line}`]
  })
}

/** Waits until whatever is still asked for waits for somebody who can be named; blocks come faster after a while. */
async function atRest(fold: Fold, cluster: TestCluster): Promise<readonly Wait[]> {
  const begun = performance.now()
  for (;;) {
    const { waits, isRest } = await restOf(fold, async () => truthOf(cluster.dataDir))
    const waited = performance.now() - begun
    if (waited > REST_WITHIN_MS || isRest) return waits
    if (waited > PATIENCE_MS) await cluster.operator('POST', '/sim/mine', { blocks: 3 }).catch(() => undefined)
    await sleep(500)
  }
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
      const faults = await differencesFromFold(rows, pepper, fold.events)
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
