import { decodePaymentRequest, getRouteToDestination, payViaRoutes, subscribeToPayViaRequest } from 'lightning'
import type { LndNode } from '@penstock/servers/lightning-lnd.ts'

type PaymentPart = {
  readonly msat: bigint
  /** The sum of all parts, as the payer declares it. */
  readonly totalMsat: bigint
}

/**
 * Sends one part of a payment without a check of the invoice's amount and expiry.
 * @returns 'paid', 'NoRoute', or the failure code
 */
export async function sendPaymentPart({ lnd }: LndNode, request: string, { msat, totalMsat }: PaymentPart): Promise<string> {
  const { cltv_delta, destination, id, payment } = await decodePaymentRequest({ lnd, request })
  const { route } = await getRouteToDestination({
    lnd,
    destination,
    mtokens: `${msat}`,
    // Blocks during the payment would make the delta too small, so 3 blocks are added, as in lnd's own payments.
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

/** Starts a payment in parts of at most `partMsat`. Only the payee shows its result. */
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
