import { DAY_MS, HOUR_MS } from '@penstock/kernel/time.ts'
import type { ServiceContext, ServiceJob } from '@penstock/runtime/service.ts'
import { feedDeliveries } from './feed.ts'
import { createWebhookGaugeReader } from './metrics.ts'
import type { WebhookPorts } from './ports.ts'
import { createSender } from './send.ts'

const PRUNE_EVERY_MS = HOUR_MS
const PRUNE_MAX = 1000

/** Makes deliveries from facts, sends them, and deletes old ones. One replica does each part at a time. */
export const webhookJob: ServiceJob<WebhookPorts> = {
  name: 'webhooks',
  sends: ['endpoint.DeactivateEndpoint'],
  async run(context, signal) {
    const { ports } = context
    const stop = new AbortController()
    const stopped = AbortSignal.any([signal, stop.signal])
    const sender = createSender(context)
    const removeReader = ports.gauges?.addReader(createWebhookGaugeReader(ports))
    const endAllAfter = async (part: Promise<unknown>): Promise<unknown> => part.finally(() => stop.abort())
    const ended = await Promise.allSettled(
      [
        context.withLease('webhook-feed', (held) => feedDeliveries(context, sender.wake, held), stopped),
        context.withLease('webhook-prune', (held) => pruneRepeatedly(context, held), stopped),
        sender.holdShards(stopped),
        sender.run(stopped),
      ].map(endAllAfter),
    )
    removeReader?.()
    // If one part throws, the others end before the job starts again.
    for (const part of ended) if (part.status === 'rejected') throw part.reason
  },
}

async function pruneRepeatedly({ ports }: ServiceContext<WebhookPorts>, signal: AbortSignal): Promise<void> {
  const { deliveries, clock, config } = ports
  while (!signal.aborted) {
    const now = clock.now()
    const bounds = {
      bodiesBefore: now - config.webhookBodyDays * DAY_MS,
      rowsBefore: now - config.webhookLogDays * DAY_MS,
      max: PRUNE_MAX,
    }
    if (!(await deliveries.prune(bounds))) await clock.sleep(PRUNE_EVERY_MS, signal)
  }
}
