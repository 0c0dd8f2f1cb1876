import type { AuthenticatedCaller } from '../../access.ts'
import type { Gateway } from '../../ports.ts'
import { findOffer } from '../read/offers.ts'
import { listOrderFacts } from '../read/orders.ts'
import { readRejectionReason } from '../read/rejection-reason.ts'
import type { OrderInRole } from '../read/sales.ts'
import { toOfferRecord } from './offer-record.ts'
import { getShownCandidate, toOrderRecord } from './order-record.ts'
import { toTimelineRecord } from './timeline-record.ts'

/** Adds the fields that are read only if the document requests them. */
export const toFullOrderRecord = (gateway: Gateway, found: OrderInRole, caller: AuthenticatedCaller | null) => ({
  ...toOrderRecord(gateway, found),
  timeline: async () =>
    toTimelineRecord(await listOrderFacts(gateway.views, found.order.id), await readRejectionReason(gateway, found.order)),
  simple_offer: async () => {
    const stored = await findOffer(gateway.views, getShownCandidate(found).offerId)
    return stored ? toOfferRecord(gateway, stored, caller) : null
  },
})
