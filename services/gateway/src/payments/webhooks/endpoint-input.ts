import { transactionEventTypes, type TransactionEventType } from '@penstock/contracts/payments/lifecycle.ts'
import { newWebhookSecret } from '@penstock/credentials/webhook-secret.ts'
import { checkWebhookTarget } from '@penstock/outbound/webhook-url.ts'
import { invalidInput } from '../../errors.ts'
import type { Gateway } from '../../ports.ts'

const isEventType = (name: string): name is TransactionEventType => transactionEventTypes.some((type) => type === name)

/** Parses the event types of an endpoint. @returns each once and in a fixed order; an empty list for all events */
export function parseEventFilters(names: readonly string[]): TransactionEventType[] {
  const unknown = names.find((name) => !isEventType(name))
  if (unknown !== undefined) throw invalidInput(`event_filters takes ${transactionEventTypes.join(', ')} and nothing else`)
  return transactionEventTypes.filter((type) => names.includes(type))
}

/** Stores a URL outside the facts, after the check of its host. @returns the id of its record */
export async function storeUrl(
  { webhookGuard, config, records, ids, clock }: Pick<Gateway, 'webhookGuard' | 'config' | 'records' | 'ids' | 'clock'>,
  text: string,
): Promise<string> {
  const checked = await checkWebhookTarget(webhookGuard, text, { allowLoopback: config.webhookAllowLoopback })
  if (!checked.ok) throw invalidInput(checked.reason)
  const id = ids.uuid()
  await records.put(id, 'webhook-url', JSON.stringify({ url: checked.url }), clock.now())
  return id
}

/** Creates a secret, and stores it sealed: from then on only the service that signs deliveries can read it. */
export async function storeNewSecret({ sealer, records, ids, clock }: Pick<Gateway, 'sealer' | 'records' | 'ids' | 'clock'>) {
  const [record, secret] = [ids.uuid(), newWebhookSecret((bytes) => ids.random(bytes))]
  await records.put(record, SECRET_KIND, await sealer.seal(record, SECRET_KIND, secret), clock.now())
  return { record, secret }
}

/** The seal is bound to this kind of record. */
const SECRET_KIND = 'webhook-secret'
