import type { Job } from '@penstock/runtime/service.ts'
import type { SettlementPorts } from './ports.ts'
import { presentTip } from './present-height.ts'
import { type Jobs, keepSlots, recordInvoice, stateOf, unfinishedOrders } from './record.ts'
import type { Slots } from './slots.ts'

/** Before an ended or broken watch is begun again. */
const AGAIN_MS = 1000

/** Who is told that an invoice was made: lnd reports a held invoice to nobody who does not ask for this very one. */
export type Watch = { readonly begin: (orderId: string) => void; readonly job: Job<SettlementPorts> }

export function openWatch(slots: Slots): Watch {
  const waiting = new Set<string>()
  let wake = (): void => undefined

  return {
    begin(orderId) {
      waiting.add(orderId)
      wake()
    },
    job: {
      name: 'watch',
      async run(context, signal) {
        const watched = new Set<string>()
        const begin = (orderId: string): void => {
          if (watched.has(orderId)) return
          watched.add(orderId)
          void watchInvoice(context, slots, orderId, signal).finally(() => watched.delete(orderId))
        }
        signal.addEventListener('abort', () => wake(), { once: true })
        const orders = await unfinishedOrders(context)
        // What is held already has its slots before anything new may take one.
        for (const orderId of orders) await count(context, slots, orderId)
        for (const orderId of orders) begin(orderId)
        while (!signal.aborted) {
          const orders = [...waiting]
          waiting.clear()
          for (const orderId of orders) begin(orderId)
          await new Promise<void>((resolve) => {
            wake = resolve
            if (waiting.size > 0 || signal.aborted) resolve()
          })
        }
      },
    },
  }
}

async function count(context: Jobs, slots: Slots, orderId: string): Promise<void> {
  try {
    keepSlots(slots, orderId, await stateOf(context, orderId))
  } catch (error) {
    context.ports.log.error({ order: orderId, reason: String(error) }, 'a hold cannot be read; its slots are not counted')
  }
}

/** Until the payment is held, the invoice is gone, or the hold waits for nothing: then the guard's look at every block is enough. */
async function watchInvoice(context: Jobs, slots: Slots, orderId: string, signal: AbortSignal): Promise<void> {
  const { clock, lightning, log } = context.ports
  while (!signal.aborted) {
    try {
      const { hold } = await stateOf(context, orderId)
      if (!hold.request || (hold.status !== 'requested' && hold.status !== 'open')) return
      for await (const invoice of lightning.holds.changes(hold.request.paymentHash, signal)) {
        if (invoice.state === 'open') continue
        await recordInvoice(context, slots, orderId, invoice, (await presentTip(context.ports)).height)
        break
      }
    } catch (error) {
      log.warn({ order: orderId, reason: String(error) }, 'the watch of an invoice broke off; it begins again')
    }
    await clock.sleep(AGAIN_MS, signal)
  }
}
