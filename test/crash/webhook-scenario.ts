import { waitUntil } from '@penstock/testkit/wait-until.ts'
import {
  createPaymentsClient,
  endsAs,
  issueServiceKey,
  openSandbox,
  requireValue,
  type Sandbox,
  type ServiceKey,
} from '../support/payments-client.ts'
import type { Product } from '../support/product.ts'
import { startWebhookReceivers } from '../support/webhook-receivers.ts'
import { createWebhooksClient, type LoggedWebhook, WEBHOOK_PERMISSIONS } from '../support/webhooks-client.ts'

type Receivers = Awaited<ReturnType<typeof startWebhookReceivers<'shop'>>>
/** A team's sandbox with an endpoint for webhooks. */
export type Shop = { readonly sandbox: Sandbox; readonly key: ServiceKey }
/** The receiver belongs to the test process, so it outlives a crash of the market. */
export type WebhookProgress = { receivers?: Receivers; shop?: Shop }

const END_TIMEOUT_MS = 60_000
const TRANSACTIONS = [
  ['first', 'complete', 'payment.completed'],
  ['second', 'fail', 'payment.failed'],
] as const

/** Two invoices end, one after the other. Each event is accepted by the receiver, which refuses some attempts. */
export async function runSandboxWebhooks(market: Product, progress: WebhookProgress): Promise<void> {
  progress.receivers ??= await startWebhookReceivers({
    shop: ({ eventType, repetition }) => (eventType === 'payment.completed' && repetition === 0 ? 500 : 204),
  })
  const { receivers } = progress
  progress.shop ??= await openShop(market, receivers.urlOf('shop'))
  const { sandbox, key } = progress.shop
  const client = createPaymentsClient(market, sandbox, key)
  for (const [name, behavior, endType] of TRANSACTIONS) {
    // A refusal is retried. Without a market the request throws, which ends the scenario.
    const { id } = await waitUntil(
      `an answer to the key "${name}"`,
      async () => (await client.receive({ idempotency_key: name, ...endsAs(behavior) })).value,
      END_TIMEOUT_MS,
    )
    const expected = [`payment.pending:${id}`, `${endType}:${id}`]
    const logged = await waitUntil(
      `the delivery of the events of transaction ${id}`,
      async () => {
        const events = await createWebhooksClient(client, sandbox).listEvents({ transaction_id: id })
        return events.filter(isDelivered).length === expected.length ? events : null
      },
      END_TIMEOUT_MS,
    )
    for (const event of logged) checkAttempts(event)
    const accepted = new Set(receivers.at('shop').flatMap(({ status, envelopeId }) => (status === 204 ? [envelopeId] : [])))
    const missing = expected.filter((one) => !accepted.has(one))
    if (missing.length > 0) throw new Error(`these events are logged as delivered, and never arrived: ${missing.join()}`)
  }
}

async function openShop(market: Product, url: string): Promise<Shop> {
  const sandbox = await openSandbox(market)
  const key = await issueServiceKey(market, sandbox, WEBHOOK_PERMISSIONS)
  requireValue(await createWebhooksClient(createPaymentsClient(market, sandbox, key), sandbox).createEndpoint({ url }))
  return { sandbox, key }
}

const isDelivered = ({ deliveries }: LoggedWebhook): boolean => deliveries.some(({ status }) => status === 'SUCCESS')

/** @throws Error unless all attempts but one have failed, and their numbers have no gap */
function checkAttempts({ id, deliveries }: LoggedWebhook): void {
  const attempts = deliveries.toSorted((one, other) => one.attempt_number - other.attempt_number)
  const hasGap = attempts.some(({ attempt_number: number }, index) => number !== index + 1)
  const open = attempts.slice(0, -1).filter(({ status }) => status !== 'FAILED')
  if (hasGap || open.length > 0) throw new Error(`the attempts of event ${id} are ${JSON.stringify(attempts)}`)
}
