import { gatewayProjections } from '@penstock/gateway/views/projections.ts'
import { openDataDir } from '@penstock/platforms/data-dir.ts'
import { type Embedded, embedded } from '@penstock/platforms/embedded.ts'
import { aggregateIdOf, categoryOf, type EventStore, type NewEvent } from '@penstock/ports/event-store.ts'
import { aggregatesOf } from '@penstock/runtime/audit-fold.ts'
import { readConfig } from '@penstock/runtime/config.ts'
import { eventOf } from '@penstock/runtime/event-codec.ts'
import { handle, prepare } from '@penstock/runtime/handle.ts'
import { openLog } from '@penstock/runtime/log.ts'
import { newCommand } from '@penstock/runtime/messages.ts'
import { projector } from '@penstock/runtime/project.ts'
import { streams as openStreams } from '@penstock/runtime/streams.ts'
import type { Aggregate } from '@penstock/runtime/service.ts'
import { audited } from '@penstock/standalone/services.ts'
import { lifeOf, type Step } from './life-commands.ts'
import { compare, perSecond, type Row, type Size, type Subject } from './harness.ts'
import { scratch } from './stores.ts'

const APPENDS = 10
const ROUNDS = 7
/** Lives in a round, by how many go on at once. */
const LIVES = new Map([
  [1, 30],
  [256, 512],
])

const BARE: readonly NewEvent[] = Array.from({ length: APPENDS }, (_, n) => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  type: 'RecordHoldIssued',
  data: JSON.stringify({ text: 'x'.repeat(629) }),
  meta: JSON.stringify({ text: 'y'.repeat(373) }),
}))

/** Orders from the request for a price to the seller's payout, beside ten bare appends to the same kind of store. */
export const life: Subject = {
  name: 'life',
  async run({ isQuick }: Size) {
    const platform = await embedded(openDataDir(scratch('life')), readConfig({}), openLog('silent'))
    const stop = new AbortController()
    const live = await lifeIn(platform, stop.signal)
    const rows: Row[] = []
    try {
      for (const [atOnce, count] of LIVES) {
        const lives = isQuick ? Math.min(atOnce, 4) : count
        const rate = (one: () => Promise<void>) => async () => [await perSecond(lives, () => sideBySide(lives, atOnce, one))]
        const [measure, bare] = [rate(live), rate(() => tenAppends(platform.store))]
        await measure()
        await bare()
        rows.push(
          ...(await compare({
            rows: [{ what: `a whole order's life, ${atOnce} at once`, unit: 'lives/s' }],
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

async function sideBySide(count: number, atOnce: number, one: () => Promise<void>): Promise<void> {
  let left = count
  const lane = async (): Promise<void> => {
    while (left-- > 0) await one()
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
}

let appended = 0
async function tenAppends(store: EventStore): Promise<void> {
  const stream = `bare-${String(++appended).padStart(32, '0')}`
  for (let n = 0; n < APPENDS; n++) {
    const { outcome } = await store.append(stream, n === 0 ? 'none' : n - 1, BARE.slice(n, n + 1))
    if (outcome !== 'appended') throw new Error('nobody else writes to these streams')
  }
}

/** @returns one life: each command is decided in its stream, its facts are hashed and appended, and the gateway's view of orders has them */
async function lifeIn(platform: Embedded, signal: AbortSignal): Promise<() => Promise<void>> {
  const { store, views, progress, ids, clock } = platform
  const [projection] = gatewayProjections({ committed: () => undefined }, (id) => id)
  if (!projection) throw new Error('there is a view of orders')
  await projection.migrate(views)
  const readers = projection.from.map((contract) => {
    const view = projector({ service: 'bench', views, progress }, projection, contract.owner, [contract])
    return [contract.category, { contract, view }] as const
  })
  const seenBy = new Map(readers)
  const ports = { ...platform, network: 'regtest' as const }
  const added = new Map<string, readonly NewEvent[]>()
  const kept: EventStore = {
    ...store,
    append(stream, expected, events) {
      added.set(stream, events)
      return store.append(stream, expected, events)
    },
  }
  const context = { service: 'bench', store: kept, streams: openStreams(kept, () => undefined), ports, signal }

  return async () => {
    const id = ids.uuid()
    const revisions = new Map<string, number>()
    for (const step of lifeOf(id, clock.now())) {
      const { stream, type } = step
      // Of many orders at once one may wait for minutes on a slow machine: each look is as young as its command.
      const data = type === 'Guard' ? { ...step.data, lookedAt: clock.monotonicMs() } : step.data
      const [category, aggregateId] = [categoryOf(stream), aggregateIdOf(stream)]
      const aggregate = aggregateFor(category, step)
      const asked = { category, aggregateId, command: { type, data }, at: clock.now(), correlation: id }
      const command = newCommand({ id: ids.uuid(), ...asked })
      const handled = await handle(context, aggregate, command, await prepare(context, aggregate, command))
      if (handled.outcome === 'refused' || !handled.news) throw new Error(`${stream} ${type}: ${JSON.stringify(handled)}`)
      const reader = seenBy.get(category)
      for (const event of added.get(stream) ?? []) {
        const revision = (revisions.get(stream) ?? -1) + 1
        revisions.set(stream, revision)
        await reader?.view.apply(eventOf(reader.contract, { ...event, stream, revision, position: BigInt(revision) }))
      }
    }
    for (const stream of revisions.keys()) added.delete(stream)
  }
}

const aggregates = aggregatesOf(audited())

/** What decides in a category; what the outside would say is known, so that nobody outside is asked. */
function aggregateFor(category: string, { type, extra }: Step): Aggregate<object> {
  const aggregate = aggregates.get(category)
  if (!aggregate) throw new Error(`nobody owns ${category}`)
  return { ...aggregate, effects: {}, enrich: extra ? { [type]: () => Promise.resolve(extra) } : {} }
}
