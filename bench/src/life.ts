import { order as orderContract } from '@penstock/contracts/order.ts'
import { gatewayProjections } from '@penstock/gateway/views/projections.ts'
import { orders } from '@penstock/order/service.ts'
import { openDataDir } from '@penstock/platforms/data-dir.ts'
import { type Embedded, embedded } from '@penstock/platforms/embedded.ts'
import type { EventStore, NewEvent } from '@penstock/ports/event-store.ts'
import { readConfig } from '@penstock/runtime/config.ts'
import { eventOf } from '@penstock/runtime/event-codec.ts'
import { handle, prepare } from '@penstock/runtime/handle.ts'
import { openLog } from '@penstock/runtime/log.ts'
import { newCommand } from '@penstock/runtime/messages.ts'
import { projector } from '@penstock/runtime/project.ts'
import { streams as openStreams } from '@penstock/runtime/streams.ts'
import { attestationOf, candidateOf, orderTermsOf, outpointOf } from '@penstock/testkit/order-terms.ts'
import { compare, perSecond, type Row, type Size, type Subject } from './harness.ts'
import { scratch } from './stores.ts'

const APPENDS = 10
const ROUNDS = 9
/** Lives in a round, by how many go on at once. */
const LIVES = new Map([
  [1, 60],
  [256, 1024],
])

const [outpoint, candidate, paymentHash] = [outpointOf(1), candidateOf(1), 'a'.repeat(64)]
/** What the other services tell an order that is sold at the first attempt. */
const COMMANDS = [
  { type: 'PlaceOrder', data: orderTermsOf() },
  { type: 'RecordHoldIssued', data: { paymentHash, invoice: 'lnbcrt1'.padEnd(300, 'x'), expiresAt: 9_999_999_999_999 } },
  { type: 'RecordHoldHeld', data: { expiryHeight: 250, heldAtHeight: 100, receivedMsat: '3000000' } },
  { type: 'RecordMatched', data: { attempt: 1, candidate } },
  { type: 'RecordBuyerReach', data: { look: 1, reached: true, reason: 'It answers.', height: 100 } },
  { type: 'NameOutpoint', data: { by: candidate.sellerAccountId, outpoint, attestation: attestationOf(outpoint) } },
  { type: 'RecordOutpointClaim', data: { attempt: 1, outpoint, granted: true } },
  { type: 'RecordOutpointNoted', data: { attempt: 1, outpoint, noted: true, attested: true, reason: null } },
  { type: 'RecordFundingSeen', data: { outpoint } },
  { type: 'RecordFundingConfirmed', data: { outpoint, height: 101, channelId: '101x1x0' } },
  { type: 'RecordConfirmationsReached', data: { outpoint, confirmations: 3 } },
  { type: 'RecordSettling', data: { outpoint, confirmations: 3, lastHeight: false } },
  { type: 'RecordHoldSettled', data: { settledAt: 5 } },
]
const BARE: readonly NewEvent[] = COMMANDS.slice(0, APPENDS).map(({ type }, n) => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  type,
  data: JSON.stringify({ text: 'x'.repeat(629) }),
  meta: JSON.stringify({ text: 'y'.repeat(373) }),
}))

/** Orders from placing to the settled payment, beside ten bare appends to the same kind of store. */
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

/** @returns one life: each command is decided, its facts are hashed and appended, and the gateway's view holds them */
async function lifeIn(platform: Embedded, signal: AbortSignal): Promise<() => Promise<void>> {
  const { store, views, progress, ids, clock } = platform
  const [aggregate] = orders.aggregates
  const [projection] = gatewayProjections({ committed: () => undefined }, (id) => id)
  if (!aggregate || !projection) throw new Error('there is an order, and a view of it')
  await projection.migrate(views)
  const view = projector({ service: 'bench', views, progress }, projection, 'order', [orderContract])
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
    const stream = `order-${id}`
    let revision = -1
    for (const wanted of COMMANDS) {
      const asked = { id: ids.uuid(), category: 'order', aggregateId: id, command: wanted, at: clock.now(), correlation: id }
      const command = newCommand(asked)
      const handled = await handle(context, aggregate, command, await prepare(context, aggregate, command))
      if (handled.outcome === 'refused' || !handled.news) throw new Error(`${wanted.type}: ${JSON.stringify(handled)}`)
      for (const event of added.get(stream) ?? [])
        await view.apply(eventOf(orderContract, { ...event, stream, revision: ++revision, position: BigInt(revision) }))
    }
    added.delete(stream)
  }
}
