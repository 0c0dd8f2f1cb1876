import { DAY_MS } from '@penstock/kernel/time.ts'
import { randomBytes } from 'node:crypto'
import type { Graph, ProbeOutcome } from '@penstock/ports/lightning.ts'
import { deleteForwardingReputations, getPendingPayments, getRouteToDestination, payViaRoutes } from 'lightning'
import { sharedAnswer } from '../shared/shared-answer.ts'
import type { Connection } from './connection.ts'
import { Refusal, type RouteFailure } from './refusal.ts'

type Probe = Parameters<Graph['probe']>[0]
/** What the node before the last asks for passing it on. */
type Toll = { readonly feeMsat: bigint; readonly cltvDelta: number }
type Policy = NonNullable<RouteFailure['policy']>

/** lnd's own for payments without an invoice. */
const FINAL_DELTA = 43
/**
 * More than anybody asks for: nothing of it is ever paid, and a node does not always say what it wants for a channel
 * that is young.
 */
const GENEROUS = (amountMsat: bigint): Toll => ({ feeMsat: 1_000_000n + amountMsat / 10n, cltvDelta: 288 })
/** Until the last node lets go, or the HTLC ends: its time locks add up to less. Whoever asks limits the wait by himself. */
const KEPT_MS = 14 * DAY_MS
const LOOK_AGAIN_MS = 1000

/** One HTLC at a time: one that our process sent before it was started again, and that is kept, is waited for. */
export function probing(node: Connection): Graph['probe'] {
  // On a new block many channels are probed: one list of payments, of two weeks, serves all of them.
  const underWay = sharedAnswer(() => lastHopsUnderWay(node))
  return async (request) => {
    const last = hopTo(request.shortChannelId, request.destination)
    while ((await underWay()).has(last)) await node.clock.sleep(LOOK_AGAIN_MS)
    const first = await send(node, request, GENEROUS(request.amountMsat))
    if (!first.asks) return first.outcome
    const { base_fee_mtokens, fee_rate, cltv_delta } = first.asks
    const feeMsat = BigInt(base_fee_mtokens) + (request.amountMsat * BigInt(fee_rate)) / 1_000_000n + 1n
    return (await send(node, request, { feeMsat, cltvDelta: cltv_delta })).outcome
  }
}

const hopTo = (channel: string, node: string): string => `${channel} ${node}`

async function lastHopsUnderWay({ ask, clock }: Connection): Promise<ReadonlySet<string>> {
  const created_after = new Date(clock.now() - KEPT_MS).toISOString()
  const found = new Set<string>()
  let token: string | undefined
  do {
    const page = token === undefined ? { created_after } : { token }
    const { payments, next } = await ask((lnd) => getPendingPayments({ lnd, ...page }))
    for (const { is_pending, route } of payments.flatMap(({ attempts }) => attempts)) {
      const last = route.hops.at(-1)
      if (is_pending && last?.public_key !== undefined) found.add(hopTo(last.channel, last.public_key))
    }
    token = next
  } while (token !== undefined)
  return found
}

type Sent = {
  readonly outcome: ProbeOutcome
  /** What the seller asks for, where we offered it too little. */ readonly asks?: Policy
}

async function send(node: Connection, request: Probe, toll: Toll): Promise<Sent> {
  const route = await routeThrough(node, request, toll)
  if (!route) return { outcome: { reached: false, failedAt: 'route', reason: 'NoRoute' } }
  try {
    // A hash of our own: without one `lightning` deletes the payment afterwards, and payments are never deleted.
    const id = randomBytes(32).toString('hex')
    await node.ask((lnd) => payViaRoutes({ lnd, id, routes: [route] }), KEPT_MS)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const sent = judge(error, route.hops.length)
    await forgive(node, sent.outcome)
    return sent
  }
  throw new Error('somebody knew the preimage of a random hash')
}

/**
 * lnd blames the seller's node for most of its answers, and then pays it nothing for an hour. Forgetting all failures is
 * the only pardon that there is, and costs the next payments a try at most. For what the last node says lnd blames that one
 * alone.
 */
async function forgive({ ask }: Connection, outcome: ProbeOutcome): Promise<void> {
  if (outcome.reached || outcome.failedAt === 'route' || outcome.reason === 'UnknownNextPeer') return
  await ask((lnd) => deleteForwardingReputations({ lnd }))
}

/**
 * The last node alone can fail the HTLC in its own name: what it says is authenticated by the secret that the onion shares
 * with its key (BOLT 4), and lnd numbers the node whose secret fits. Implementations have different words for it, so the
 * words do not count. What no secret fits, and what our own node or the chain ended, has the number 0.
 */
function judge({ reason, failure }: Refusal, hops: number): Sent {
  const { index, policy }: RouteFailure = failure ?? {}
  if (index === hops) return { outcome: { reached: true } }
  const failedAt = index === hops - 1 && index > 0 ? 'seller' : 'route'
  const outcome = { reached: false, failedAt, reason } as const
  const isTooLittle = failedAt === 'seller' && /^(FeeInsufficient|IncorrectCltvExpiry|ExpiryTooSoon)$/.test(reason)
  return isTooLittle && policy ? { outcome, asks: policy } : { outcome }
}

/** A way to `via`, and then the named channel, by hand: it need not be in our graph. */
async function routeThrough({ ask }: Connection, { via, shortChannelId, destination, amountMsat }: Probe, toll: Toll) {
  const toVia = await ask((lnd) =>
    getRouteToDestination({
      lnd,
      destination: via,
      mtokens: `${amountMsat + toll.feeMsat}`,
      cltv_delta: FINAL_DELTA + toll.cltvDelta,
      // The failures are our own: what a seller could not pass on says nothing about the way to it.
      is_ignoring_past_failures: true,
    }),
  ).catch(noRoute)
  const before = toVia?.route?.hops.at(-1)
  if (!toVia?.route || !before) return undefined
  // What lnd has counted from its own height on, for a payment that ends at `via`.
  const timeout = before.timeout - toll.cltvDelta
  const passed = { forward: Number(amountMsat / 1000n), forward_mtokens: `${amountMsat}`, timeout }
  return {
    ...toVia.route,
    // As of a payment in one part: without a secret some would fail it before they look for the hash.
    payment: randomBytes(32).toString('hex'),
    total_mtokens: `${amountMsat}`,
    hops: [
      ...toVia.route.hops.slice(0, -1),
      { ...before, ...passed, fee: Number(toll.feeMsat / 1000n), fee_mtokens: `${toll.feeMsat}` },
      { ...passed, channel: shortChannelId, channel_capacity: 0, fee: 0, fee_mtokens: '0', public_key: destination },
    ],
  }
}

/** lnd refuses to look for a way that cannot be, such as to itself. */
function noRoute(error: unknown): undefined {
  if (!(error instanceof Refusal)) throw error
}
