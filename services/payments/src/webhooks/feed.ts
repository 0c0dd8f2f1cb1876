import { endpointContract, type EndpointFact } from '@penstock/contracts/payments/endpoint.ts'
import { type EnvironmentFact, environmentContract } from '@penstock/contracts/payments/environment.ts'
import { type WalletFact, walletContract } from '@penstock/contracts/payments/wallet.ts'
import type { ReceiveFact } from '@penstock/contracts/payments/receive.ts'
import { receiveContract } from '@penstock/contracts/payments/receive.ts'
import { type SendFact, sendContract } from '@penstock/contracts/payments/send.ts'
import { findTransactionEventType } from '@penstock/contracts/payments/lifecycle.ts'
import { assert } from '@penstock/kernel/result.ts'
import { categoryOf } from '@penstock/kernel/stream-name.ts'
import type { DeliveryChange, WebhookEndpointSettings } from '@penstock/ports/deliveries.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { readEvent } from '@penstock/runtime/commands/event-codec.ts'
import type { Event, ServiceContext } from '@penstock/runtime/service.ts'
import { buildTestBody, buildTransactionBody, envelopeIdOf, TEST_EVENT_TYPE } from './body.ts'
import { evolveSettings } from './endpoint-settings.ts'
import { countDeactivation } from './metrics.ts'
import type { WebhookPorts } from './ports.ts'
import { readTransaction } from './transaction.ts'

const contracts = new Map(
  [receiveContract, sendContract, endpointContract, environmentContract, walletContract].map((contract) => [
    contract.category as string,
    contract,
  ]),
)

type FollowedFact = ReceiveFact | SendFact | EndpointFact | EnvironmentFact | WalletFact

/** A waiting delivery of an event that is older than this ends when its endpoint is switched on again: five days. */
export const MAX_WAIT_MS = 5 * 24 * 3_600_000
/** After so many facts without a change the position is recorded, so that a start does not read them again. */
const RECORD_EVERY = 1000

/**
 * Makes deliveries from the service's own stored facts, in the order of the log. So an endpoint gets each event after its
 * creation, and no delivery exists without a stored fact. A batch of changes and the position are one commit.
 */
export async function feedDeliveries(
  { ports }: ServiceContext<WebhookPorts>,
  onRecorded: () => void,
  signal: AbortSignal,
): Promise<void> {
  const { facts, deliveries } = ports
  while (!signal.aborted) {
    let recorded = await deliveries.readPosition()
    let skipped = 0
    for await (const batch of facts.follow({ categories: [...contracts.keys()], after: recorded, signal })) {
      const changes = await listChanges(ports, batch)
      const position = batch.at(-1)?.position
      skipped += batch.length
      if (position === undefined || (changes.length === 0 && skipped < RECORD_EVERY)) continue
      // Another replica has recorded a batch, so this one continues from its position.
      if (!(await deliveries.record({ after: recorded, position, changes }))) break
      countDeactivations(batch)
      recorded = position
      skipped = 0
      if (changes.length > 0) onRecorded()
    }
  }
}

type FeedPorts = ServiceContext<WebhookPorts>['ports']

function countDeactivations(batch: readonly StoredEvent[]): void {
  for (const stored of batch) {
    const { fact } = toEvent(stored)
    if (fact.type === 'EndpointDeactivated') countDeactivation(fact.data.reason)
  }
}

async function listChanges(ports: FeedPorts, batch: readonly StoredEvent[]): Promise<readonly DeliveryChange[]> {
  const changes: DeliveryChange[] = []
  const book = createEndpointBook(ports)
  for (const stored of batch) changes.push(...(await toChanges(ports, book, toEvent(stored))))
  return changes
}

function toEvent(stored: StoredEvent): Event<FollowedFact> {
  const contract = contracts.get(categoryOf(stored.stream))
  assert(contract, `the feed does not follow ${stored.stream}`)
  return readEvent(contract, stored) as Event<FollowedFact> // The contract's schema checked the fact at its append.
}

async function toChanges(ports: FeedPorts, book: EndpointBook, event: Event<FollowedFact>): Promise<readonly DeliveryChange[]> {
  switch (event.fact.type) {
    case 'EnvironmentDeleted':
      await book.forgetEnvironment(event.aggregateId)
      return [{ kind: 'environment-deleted', environmentId: event.aggregateId }]
    case 'WalletDeleted':
      return [{ kind: 'wallet-deleted', walletId: event.aggregateId }]
    case 'EnvironmentCreated':
    case 'WalletCreated':
      return []
    case 'EndpointCreated':
    case 'EndpointChanged':
    case 'EndpointPaused':
    case 'EndpointResumed':
    case 'SecretRotated':
    case 'EndpointDeactivated':
    case 'RedeliveryRequested':
    case 'TestRequested':
    case 'EndpointDeleted':
      return changeEndpoint(ports, book, event as Event<EndpointFact>)
    default:
      return reportTransaction(ports, book, event as Event<ReceiveFact | SendFact>)
  }
}

async function changeEndpoint(
  ports: FeedPorts,
  book: EndpointBook,
  { aggregateId: id, position, at, fact }: Event<EndpointFact>,
): Promise<readonly DeliveryChange[]> {
  const { type, data } = fact
  // A deleted environment gets no endpoint, also if the command was handled later.
  if (type === 'EndpointCreated' && (await isEnvironmentDeleted(ports, data.environmentId, position))) return []
  const settings = evolveSettings(await book.find(id), { id, at, fact })
  await book.set(id, settings)
  if (type === 'EndpointDeleted') return [{ kind: 'endpoint-deleted', endpointId: id }]
  if (!settings) return []
  if (type === 'RedeliveryRequested') return [{ kind: 'redelivery', endpointId: id, ...data, at }]
  if (type === 'TestRequested') {
    const { environmentId } = settings
    const test = {
      id: data.eventId,
      envelopeId: envelopeIdOf(TEST_EVENT_TYPE, data.eventId),
      environmentId,
      walletId: null,
      transactionId: null,
      sequence: 0,
      type: TEST_EVENT_TYPE,
      body: buildTestBody(data.eventId, { id: environmentId, type: await readEnvironmentType(ports, environmentId) }),
      createdAt: at,
    }
    return [{ kind: 'event', event: test, deliveries: [{ endpointId: id, attemptId: data.attemptId, maxAttempts: 1 }] }]
  }
  const changed: DeliveryChange = { kind: 'endpoint', settings }
  return type === 'EndpointResumed' ? [changed, { kind: 'resumed', endpointId: id, endBefore: at - MAX_WAIT_MS, at }] : [changed]
}

const isEnvironmentDeleted = (ports: FeedPorts, id: string, before: bigint): Promise<boolean> =>
  hasFactBefore(ports, `${environmentContract.category}-${id}`, 'EnvironmentDeleted', before)

const isWalletDeleted = (ports: FeedPorts, id: string, before: bigint): Promise<boolean> =>
  hasFactBefore(ports, `${walletContract.category}-${id}`, 'WalletDeleted', before)

async function hasFactBefore({ facts }: FeedPorts, stream: string, fact: string, before: bigint): Promise<boolean> {
  return (await facts.read(stream)).some(({ type, position }) => type === fact && position < before)
}

async function readEnvironmentType(ports: FeedPorts, id: string) {
  const [first] = await ports.facts.read(`${environmentContract.category}-${id}`, 0, 1)
  const fact = first && toEvent(first).fact
  assert(fact?.type === 'EnvironmentCreated', `environment ${id} has an endpoint and was never created`)
  return fact.data.type
}

async function reportTransaction(
  ports: FeedPorts,
  book: EndpointBook,
  event: Event<ReceiveFact | SendFact>,
): Promise<readonly DeliveryChange[]> {
  const type = findTransactionEventType(event.fact.type)
  if (type === undefined || !(await book.hasEndpoints())) return []
  const transaction = await readTransaction(ports, event, toEvent)
  const { environmentId, walletId } = transaction.view
  const takers = (await book.list(environmentId)).filter(({ filters }) => filters.length === 0 || filters.includes(type))
  if (takers.length === 0) return []
  // Callers no longer see the transactions of a deleted wallet, although those in progress still end.
  if (await isWalletDeleted(ports, walletId, event.position)) return []
  const row = {
    id: event.id,
    envelopeId: envelopeIdOf(type, event.aggregateId),
    environmentId,
    walletId,
    transactionId: event.aggregateId,
    sequence: event.revision,
    type,
    body: buildTransactionBody(type, await transaction.withTexts()),
    createdAt: event.at,
  }
  const maxAttempts = ports.config.webhookWaitsSeconds.length + 1
  const deliveries = takers.map(({ id: endpointId }) => ({ endpointId, attemptId: ports.ids.uuid(), maxAttempts }))
  return [{ kind: 'event', event: row, deliveries }]
}

type EndpointBook = ReturnType<typeof createEndpointBook>

/** The endpoints of the environments in a batch: the recorded ones, with the changes of the batch so far. */
function createEndpointBook({ deliveries }: FeedPorts) {
  const byEnvironment = new Map<string, Map<string, WebhookEndpointSettings>>()
  /** The endpoints of this batch; undefined for one that is deleted. */
  const changed = new Map<string, WebhookEndpointSettings | undefined>()
  let hasRecorded: boolean | undefined
  const load = async (environmentId: string) => {
    const known = byEnvironment.get(environmentId)
    if (known) return known
    const found = new Map((await deliveries.findEndpoints([environmentId])).map((endpoint) => [endpoint.id, endpoint]))
    byEnvironment.set(environmentId, found)
    return found
  }
  return {
    hasEndpoints: async (): Promise<boolean> =>
      (hasRecorded ??= await deliveries.hasEndpoints()) || [...byEnvironment.values()].some(({ size }) => size > 0),
    list: async (environmentId: string) => [...(await load(environmentId)).values()],
    /** The recorded settings are those after all earlier facts, so no stream has to be read. */
    async find(id: string): Promise<WebhookEndpointSettings | undefined> {
      if (changed.has(id)) return changed.get(id)
      const recorded = await deliveries.findEndpoint(id)
      return recorded && (await load(recorded.environmentId)).get(id)
    },
    async set(id: string, settings: WebhookEndpointSettings | undefined): Promise<void> {
      changed.set(id, settings)
      if (settings) (await load(settings.environmentId)).set(id, settings)
      else for (const endpoints of byEnvironment.values()) endpoints.delete(id)
    },
    async forgetEnvironment(environmentId: string): Promise<void> {
      byEnvironment.set(environmentId, new Map())
      for (const [id, settings] of changed) if (settings?.environmentId === environmentId) changed.set(id, undefined)
    },
  }
}
