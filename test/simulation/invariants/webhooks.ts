import { type EndpointFact, endpointContract } from '@penstock/contracts/payments/endpoint.ts'
import { findTransactionEventType } from '@penstock/contracts/payments/lifecycle.ts'
import type { ReceiveFact } from '@penstock/contracts/payments/receive.ts'
import type { SendFact } from '@penstock/contracts/payments/send.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { ReceivedWebhook } from '../world/webhook-receivers.ts'

/**
 * Checks that the endpoint of each environment got each event after its creation at least once with an answer of success, and
 * that no webhook reports an event without a stored fact. @returns a sentence for each violation
 */
export function checkWebhooks(events: readonly Event[], received: readonly ReceivedWebhook[]): readonly string[] {
  const stored = new Set<string>()
  const delivered = new Set(received.filter(({ status }) => status === 200).map(({ envelopeId }) => envelopeId))
  const listening = new Set<string>()
  const environments = new Map<string, string>()
  const missing: string[] = []
  for (const { category, aggregateId: id, fact } of events) {
    if (category === endpointContract.category) {
      const { type, data } = fact as EndpointFact // The category determines the type.
      if (type === 'EndpointCreated') listening.add(data.environmentId)
    }
    if (category !== 'receive' && category !== 'send') continue
    const { type, data } = fact as ReceiveFact | SendFact // The category determines the type.
    if (type === 'ReceiveRequested' || type === 'SendRequested') environments.set(id, data.environmentId)
    const eventType = findTransactionEventType(type)
    if (eventType === undefined) continue
    const envelopeId = `${eventType}:${id}`
    stored.add(envelopeId)
    if (listening.has(environments.get(id) ?? '') && !delivered.has(envelopeId)) missing.push(envelopeId)
  }
  return [
    ...missing.map((envelopeId) => `the webhook ${envelopeId} was not delivered`),
    ...received
      .filter(({ envelopeId }) => !stored.has(envelopeId))
      .map(({ envelopeId }) => `the webhook ${envelopeId} reports no stored fact`),
  ]
}
