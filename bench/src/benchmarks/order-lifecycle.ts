import { createGatewayProjections } from '@penstock/gateway/projections.ts'
import { openDataDir } from '@penstock/config/data-dir.ts'
import { type EmbeddedPlatform, openEmbeddedPlatform } from '@penstock/platforms/embedded.ts'
import { aggregateIdOf, categoryOf } from '@penstock/kernel/stream-name.ts'
import type { EventStore, NewEvent } from '@penstock/ports/event-store.ts'
import { indexAggregates } from '@penstock/audit/fold.ts'
import { readConfig } from '@penstock/config/config.ts'
import { readEvent } from '@penstock/runtime/commands/event-codec.ts'
import { handleCommand, prepareCommand } from '@penstock/runtime/commands/handle-command.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import { newCommand } from '@penstock/runtime/commands/messages.ts'
import { createProjector } from '@penstock/runtime/views/project.ts'
import { createStreamCache } from '@penstock/runtime/commands/stream-cache.ts'
import type { Aggregate } from '@penstock/runtime/service.ts'
import { createStreamServices } from '@penstock/standalone/registry.ts'
import { listLifecycleSteps, type LifecycleStep } from './order-lifecycle-commands.ts'
import { compareToReference, measureRate, type BenchmarkRow, type BenchmarkSize, type Benchmark } from '../harness.ts'
import { createTempFolder } from '../sample-stores.ts'

const APPENDS = 10
const ROUNDS = 7
/** Orders per round, by the number of concurrent orders. */
const ORDERS_BY_CONCURRENCY = new Map([
  [1, 30],
  [256, 512],
])

const BARE_EVENTS: readonly NewEvent[] = Array.from({ length: APPENDS }, (_, n) => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  type: 'RecordHoldIssued',
  data: JSON.stringify({ text: 'x'.repeat(629) }),
  meta: JSON.stringify({ text: 'y'.repeat(373) }),
}))

/** Compares orders, from the quote request to the seller's payout, with ten bare appends each to the same kind of store. */
export const orderLifecycleBenchmark: Benchmark = {
  name: 'life',
  async run({ isQuick }: BenchmarkSize) {
    const platform = await openEmbeddedPlatform(openDataDir(createTempFolder('life')), readConfig({}), openLogger('silent'))
    const stop = new AbortController()
    const runOrder = await createOrderRunner(platform, stop.signal)
    const rows: BenchmarkRow[] = []
    try {
      for (const [concurrency, count] of ORDERS_BY_CONCURRENCY) {
        const orders = isQuick ? Math.min(concurrency, 4) : count
        const rate = (runOne: () => Promise<void>) => async () => [
          await measureRate(orders, () => runConcurrently(orders, concurrency, runOne)),
        ]
        const [measure, bare] = [rate(runOrder), rate(() => appendTenEvents(platform.store))]
        await measure()
        await bare()
        rows.push(
          ...(await compareToReference({
            rows: [{ description: `a whole order's life, ${concurrency} at once`, unit: 'lives/s' }],
            measure,
            reference: { name: 'ten bare appends for each', measure: bare },
            rounds: isQuick ? 1 : ROUNDS,
          })),
        )
      }
    } finally {
      stop.abort()
      await platform.close()
    }
    return rows
  },
}

async function runConcurrently(count: number, concurrency: number, runOne: () => Promise<void>): Promise<void> {
  let remaining = count
  const worker = async (): Promise<void> => {
    while (remaining-- > 0) await runOne()
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
}

let appendedStreams = 0
async function appendTenEvents(store: EventStore): Promise<void> {
  const stream = `bare-${String(++appendedStreams).padStart(32, '0')}`
  for (let n = 0; n < APPENDS; n++) {
    const { outcome } = await store.append(stream, n === 0 ? 'none' : n - 1, BARE_EVENTS.slice(n, n + 1))
    if (outcome !== 'appended') throw new Error('append conflict in a stream that only this benchmark writes')
  }
}

/** @returns a function that runs one order: it decides each command, hashes and appends its facts, and updates a read model */
async function createOrderRunner(platform: EmbeddedPlatform, signal: AbortSignal): Promise<() => Promise<void>> {
  const { store, views, progress, ids, clock } = platform
  const [projection] = createGatewayProjections({ notifyCommitted: () => undefined }, (id) => id)
  if (!projection) throw new Error('the gateway has no projection of orders')
  await projection.migrate(views)
  const readers = projection.from.map((contract) => {
    const view = createProjector({ service: 'bench', views, progress }, projection, contract.owner, [contract])
    return [contract.category, { contract, view }] as const
  })
  const readersByCategory = new Map(readers)
  const ports = { ...platform, network: 'regtest' as const }
  const appendedEvents = new Map<string, readonly NewEvent[]>()
  const recordingStore: EventStore = {
    ...store,
    append(stream, expected, events) {
      appendedEvents.set(stream, events)
      return store.append(stream, expected, events)
    },
  }
  const context = {
    service: 'bench',
    store: recordingStore,
    streams: createStreamCache(recordingStore, () => undefined),
    ports,
    signal,
  }

  return async () => {
    const id = ids.uuid()
    const revisions = new Map<string, number>()
    for (const step of listLifecycleSteps(id, clock.now())) {
      const { stream, type } = step
      // The evidence of `Guard` is valid for a limited time after `observedAt`, and an order may run for minutes.
      const data = type === 'Guard' ? { ...step.data, observedAt: clock.monotonicMs() } : step.data
      const [category, aggregateId] = [categoryOf(stream), aggregateIdOf(stream)]
      const aggregate = buildAggregate(category, step)
      const fields = { category, aggregateId, command: { type, data }, at: clock.now(), correlation: id }
      const command = newCommand({ id: ids.uuid(), ...fields })
      const handled = await handleCommand(context, aggregate, command, await prepareCommand(context, aggregate, command))
      if (handled.outcome === 'refused' || !handled.hasAppended) throw new Error(`${stream} ${type}: ${JSON.stringify(handled)}`)
      const reader = readersByCategory.get(category)
      for (const event of appendedEvents.get(stream) ?? []) {
        const revision = (revisions.get(stream) ?? -1) + 1
        revisions.set(stream, revision)
        await reader?.view.apply(readEvent(reader.contract, { ...event, stream, revision, position: BigInt(revision) }))
      }
    }
    for (const stream of revisions.keys()) appendedEvents.delete(stream)
  }
}

const aggregates = indexAggregates(createStreamServices())

/** Returns the category's aggregate without effects. A step's `extra` replaces the enrichment, so no call leaves the process. */
function buildAggregate(category: string, { type, extra }: LifecycleStep): Aggregate<object> {
  const aggregate = aggregates.get(category)
  if (!aggregate) throw new Error(`no service owns ${category}`)
  return { ...aggregate, effects: {}, enrich: extra ? { [type]: () => Promise.resolve(extra) } : {} }
}
