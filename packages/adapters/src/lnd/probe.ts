import { DAY_MS } from '@penstock/kernel/time.ts'
import { randomBytes } from 'node:crypto'
import type { Graph, ProbeOutcome } from '@penstock/ports/lightning.ts'
import { deleteForwardingReputations, getPendingPayments, getRouteToDestination, payViaRoutes } from 'lightning'
import { createSingleFlight } from '../shared/single-flight.ts'
import type { LndConnection } from './connection.ts'
import { LndRefusal, type RouteFailure } from './rpc-errors.ts'

type ProbeRequest = Parameters<Graph['probe']>[0]
/** Fee and CLTV delta that the node before the last charges for forwarding. */
type ForwardingTerms = { readonly feeMsat: bigint; readonly cltvDelta: number }
type Policy = NonNullable<RouteFailure['policy']>

/** The delta that lnd uses for payments without an invoice. */
const FINAL_CLTV_DELTA = 43
/** Offers more than any node charges. The fee is never paid, and a node does not always report its policy for a new channel. */
const offerGenerousTerms = (amountMsat: bigint): ForwardingTerms => ({ feeMsat: 1_000_000n + amountMsat / 10n, cltvDelta: 288 })
/**
 * Upper bound in ms of the duration of a probe, because the time locks of a route add up to less. The caller sets its own
 * timeout.
 */
const MAX_PROBE_MS = 14 * DAY_MS
const POLL_MS = 1000

/** Sends one HTLC at a time over a last hop. While an HTLC is pending there, even of an earlier process, the probe waits. */
export function createProber(node: LndConnection): Graph['probe'] {
  // After each block many channels are probed, so they share one list of the payments of two weeks.
  const readPendingLastHops = createSingleFlight(() => listPendingLastHops(node))
  return async (request) => {
    const last = formatHop(request.shortChannelId, request.destination)
    while ((await readPendingLastHops()).has(last)) await node.clock.sleep(POLL_MS)
    const first = await sendProbe(node, request, offerGenerousTerms(request.amountMsat))
    if (!first.requiredPolicy) return first.outcome
    const { base_fee_mtokens, fee_rate, cltv_delta } = first.requiredPolicy
    const feeMsat = BigInt(base_fee_mtokens) + (request.amountMsat * BigInt(fee_rate)) / 1_000_000n + 1n
    return (await sendProbe(node, request, { feeMsat, cltvDelta: cltv_delta })).outcome
  }
}

const formatHop = (channel: string, node: string): string => `${channel} ${node}`

async function listPendingLastHops({ ask, clock }: LndConnection): Promise<ReadonlySet<string>> {
  const created_after = new Date(clock.now() - MAX_PROBE_MS).toISOString()
  const found = new Set<string>()
  let token: string | undefined
  do {
    const page = token === undefined ? { created_after } : { token }
    const { payments, next } = await ask((lnd) => getPendingPayments({ lnd, ...page }))
    for (const { is_pending, route } of payments.flatMap(({ attempts }) => attempts)) {
      const last = route.hops.at(-1)
      if (is_pending && last?.public_key !== undefined) found.add(formatHop(last.channel, last.public_key))
    }
    token = next
  } while (token !== undefined)
  return found
}

type ProbeResult = {
  readonly outcome: ProbeOutcome
  /** The policy of the seller, if the offered terms were too low. */ readonly requiredPolicy?: Policy
}

async function sendProbe(node: LndConnection, request: ProbeRequest, terms: ForwardingTerms): Promise<ProbeResult> {
  const route = await buildRoute(node, request, terms)
  if (!route) return { outcome: { reached: false, failedAt: 'route', reason: 'NoRoute' } }
  try {
    // The hash is our own: `lightning` deletes a payment whose hash it has generated, but payments are never deleted.
    const id = randomBytes(32).toString('hex')
    await node.ask((lnd) => payViaRoutes({ lnd, id, routes: [route] }), MAX_PROBE_MS)
  } catch (error) {
    if (!(error instanceof LndRefusal)) throw error
    const result = interpretFailure(error, route.hops.length)
    await resetPenalties(node, result.outcome)
    return result
  }
  throw new Error('somebody knew the preimage of a random hash')
}

/**
 * Clears lnd's record of failures. lnd blames the seller's node for most failures, and then sends it no payment for an hour. lnd
 * can only clear all failures, which costs each next payment at most one extra attempt. After a failure at the last node nothing
 * is cleared, because lnd blames only that node.
 */
async function resetPenalties({ ask }: LndConnection, outcome: ProbeOutcome): Promise<void> {
  if (outcome.reached || outcome.failedAt === 'route' || outcome.reason === 'UnknownNextPeer') return
  await ask((lnd) => deleteForwardingReputations({ lnd }))
}

/**
 * Finds the node that failed the HTLC. The onion's shared secret with a node authenticates a failure from that node (BOLT 4). So
 * no other node can forge a failure from the last node. lnd reports the index of the node whose secret fits. Index 0 means that
 * no secret fits, or that our node or the chain ended the HTLC. The code of the failure is ignored, because implementations
 * differ.
 */
function interpretFailure({ reason, failure }: LndRefusal, hops: number): ProbeResult {
  const { index, policy }: RouteFailure = failure ?? {}
  if (index === hops) return { outcome: { reached: true } }
  const failedAt = index === hops - 1 && index > 0 ? 'seller' : 'route'
  const outcome = { reached: false, failedAt, reason } as const
  const isTooLittle = failedAt === 'seller' && /^(FeeInsufficient|IncorrectCltvExpiry|ExpiryTooSoon)$/.test(reason)
  return isTooLittle && policy ? { outcome, requiredPolicy: policy } : { outcome }
}

/** Builds a route to `via` and adds the given channel itself, because our graph may lack it. */
async function buildRoute(
  { ask }: LndConnection,
  { via, shortChannelId, destination, amountMsat }: ProbeRequest,
  terms: ForwardingTerms,
) {
  const toVia = await ask((lnd) =>
    getRouteToDestination({
      lnd,
      destination: via,
      mtokens: `${amountMsat + terms.feeMsat}`,
      cltv_delta: FINAL_CLTV_DELTA + terms.cltvDelta,
      // Past failures come from our own probes. They show that a seller could not forward, but not that the route to the seller
      // failed.
      is_ignoring_past_failures: true,
    }),
  ).catch(ignoreRefusal)
  const before = toVia?.route?.hops.at(-1)
  if (!toVia?.route || !before) return undefined
  // The expiry at the last node: lnd's expiry for a payment that ends at `via`, minus the delta of the added hop.
  const timeout = before.timeout - terms.cltvDelta
  const forwarded = { forward: Number(amountMsat / 1000n), forward_mtokens: `${amountMsat}`, timeout }
  return {
    ...toVia.route,
    // A payment secret, as in a payment of one part. Without one, some nodes fail the HTLC before they look up the hash.
    payment: randomBytes(32).toString('hex'),
    total_mtokens: `${amountMsat}`,
    hops: [
      ...toVia.route.hops.slice(0, -1),
      { ...before, ...forwarded, fee: Number(terms.feeMsat / 1000n), fee_mtokens: `${terms.feeMsat}` },
      { ...forwarded, channel: shortChannelId, channel_capacity: 0, fee: 0, fee_mtokens: '0', public_key: destination },
    ],
  }
}

/** lnd refuses to search an impossible route, such as a route to itself. */
function ignoreRefusal(error: unknown): undefined {
  if (!(error instanceof LndRefusal)) throw error
}
