import { decodePaymentRequest, getRouteToDestination, payViaRoutes, subscribeToPayViaRequest } from 'lightning'
import type { LndNode } from '@penstock/servers/lightning-lnd.ts'

type Part = {
  readonly msat: bigint
  /** What the payer says that all parts come to. */
  readonly totalMsat: bigint
}

/**
 * Sends one part of a payment by hand, whatever the invoice says of amount and time.
 * @returns how it ended: 'paid', or the word of the node that failed it
 */
export async function sendPart({ lnd }: LndNode, request: string, { msat, totalMsat }: Part): Promise<string> {
  const { cltv_delta, destination, id, payment } = await decodePaymentRequest({ lnd, request })
  const { route } = await getRouteToDestination({
    lnd,
    destination,
    mtokens: `${msat}`,
    // As lnd's own payments do, lest a block on the way makes it too short.
    cltv_delta: (cltv_delta ?? 0) + 3,
    is_ignoring_past_failures: true,
  })
  if (!route) return 'NoRoute'
  try {
    await payViaRoutes({ lnd, id, routes: [{ ...route, ...(payment && { payment }), total_mtokens: `${totalMsat}` }] })
    return 'paid'
  } catch (error) {
    return Array.isArray(error) ? String(error[1]) : String(error)
  }
}

/** Pays in parts of at most so much; what becomes of it shows at the payee. */
export function payInParts({ lnd }: LndNode, request: string, partMsat: bigint): void {
  const sending = subscribeToPayViaRequest({
    lnd,
    request,
    max_fee: 100,
    max_path_mtokens: `${partMsat}`,
    max_paths: 8,
    pathfinding_timeout: 10_000,
  })
  for (const event of ['confirmed', 'failed', 'error'] as const) sending.on(event, () => undefined)
}
