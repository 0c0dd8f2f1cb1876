import { withJitter } from '@penstock/kernel/backoff.ts'
import type { ServiceJob } from '@penstock/runtime/service.ts'
import type { SettlementPorts } from '../ports.ts'
import { readHighestTip } from '../highest-tip.ts'
import {
  type SettlementJobContext,
  syncPeerSlots,
  recordInvoiceChange,
  loadSettlement,
  listUnfinishedOrders,
} from '../stream-access.ts'
import type { PeerSlots } from './peer-slots.ts'

/** Delay before a new subscription after the previous subscription has ended or failed. */
const RESUBSCRIBE_DELAY_MS = 1000

/** Starts a watch for each new invoice, because lnd reports a held invoice only to a subscriber of that invoice. */
export type InvoiceWatch = { readonly begin: (orderId: string) => void; readonly job: ServiceJob<SettlementPorts> }

export function openInvoiceWatch(slots: PeerSlots): InvoiceWatch {
  const pending = new Set<string>()
  let wake = (): void => undefined

  return {
    begin(orderId) {
      pending.add(orderId)
      wake()
    },
    job: {
      name: 'watch',
      sends: ['settlement.RecordHeld', 'settlement.RecordNodeCancelled'],
      async run(context, signal) {
        const watched = new Set<string>()
        const begin = (orderId: string): void => {
          if (watched.has(orderId)) return
          watched.add(orderId)
          void watchInvoice(context, slots, orderId, signal).finally(() => watched.delete(orderId))
        }
        signal.addEventListener('abort', () => wake(), { once: true })
        const orders = await listUnfinishedOrders(context)
        // Held payments take their slots before new payments can.
        for (const orderId of orders) await countHeldSlots(context, slots, orderId)
        for (const orderId of orders) begin(orderId)
        while (!signal.aborted) {
          const orders = [...pending]
          pending.clear()
          for (const orderId of orders) begin(orderId)
          await new Promise<void>((resolve) => {
            wake = resolve
            if (pending.size > 0 || signal.aborted) resolve()
          })
        }
      },
    },
  }
}

async function countHeldSlots(context: SettlementJobContext, slots: PeerSlots, orderId: string): Promise<void> {
  try {
    syncPeerSlots(slots, orderId, await loadSettlement(context, orderId))
  } catch (error) {
    context.ports.log.error({ order: orderId, reason: String(error) }, 'reading a hold failed; its slots are not counted')
  }
}

/** Watches an invoice until its payment is held or its hold has ended; after that, the rounds of the guard are enough. */
async function watchInvoice(
  context: SettlementJobContext,
  slots: PeerSlots,
  orderId: string,
  signal: AbortSignal,
): Promise<void> {
  const { clock, ids, lightning, log } = context.ports
  while (!signal.aborted) {
    try {
      const { hold } = await loadSettlement(context, orderId)
      if (!hold.request || (hold.status !== 'requested' && hold.status !== 'open')) return
      for await (const invoice of lightning.holds.changes(hold.request.paymentHash, signal)) {
        if (invoice.state === 'open') continue
        const { height } = await readHighestTip(context.ports)
        const settlement = await loadSettlement(context, orderId)
        await recordInvoiceChange(context, slots, orderId, { settlement, invoice, height })
        break
      }
    } catch (error) {
      log.warn({ order: orderId, reason: String(error) }, 'invoice subscription ended; resubscribing')
    }
    await clock.sleep(withJitter(RESUBSCRIBE_DELAY_MS, ids), signal)
  }
}
