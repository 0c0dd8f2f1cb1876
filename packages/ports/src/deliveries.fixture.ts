import { assert } from '@penstock/kernel/result.ts'
import type {
  Attempt,
  AttemptEnd,
  AttemptPostponement,
  Deliveries,
  DeliveryChange,
  DeliveryLog,
  NewDelivery,
  WebhookEndpointSettings,
  WebhookEventRow,
} from './deliveries.ts'
import { SHARD_COUNT } from './deliveries.ts'

export type DeliveriesFixture = {
  readonly deliveries: Deliveries & DeliveryLog
  reopen(): Promise<Deliveries & DeliveryLog>
  teardown(): Promise<void>
}

/** The time of the first event of a case. */
export const START = 1_790_000_000_000
export const SECOND = 1000
export const MAX_ATTEMPTS = 8
export const ALL_SHARDS: readonly number[] = Array.from({ length: SHARD_COUNT }, (_, shard) => shard)

export type EndpointOptions = Partial<Omit<WebhookEndpointSettings, 'id'>>

export const createSettings = (id: string, options: EndpointOptions = {}): WebhookEndpointSettings => ({
  id,
  environmentId: 'shop',
  urlRecord: `url-of-${id}`,
  secrets: [{ record: `secret-of-${id}`, validUntil: null }],
  filters: [],
  active: true,
  ...options,
})

export const endpoint = (id: string, options?: EndpointOptions): DeliveryChange => ({
  kind: 'endpoint',
  settings: createSettings(id, options),
})

export const createEvent = (id: string, options: Partial<WebhookEventRow> = {}): WebhookEventRow => ({
  id,
  envelopeId: `payment.pending:${id}`,
  environmentId: 'shop',
  walletId: 'wallet',
  transactionId: `transaction-of-${id}`,
  sequence: 1,
  type: 'payment.pending',
  body: `{"id":"payment.pending:${id}","data":{"description":"é 🦫"}}`,
  createdAt: START,
  ...options,
})

/** An event with a delivery for each endpoint. The first attempt has the id `<event>-<endpoint>`. */
export const event = (
  id: string,
  endpointIds: readonly string[],
  { maxAttempts = MAX_ATTEMPTS, ...options }: Partial<WebhookEventRow> & Partial<Pick<NewDelivery, 'maxAttempts'>> = {},
): DeliveryChange => ({
  kind: 'event',
  event: createEvent(id, options),
  deliveries: endpointIds.map((endpointId) => ({ endpointId, attemptId: `${id}-${endpointId}`, maxAttempts })),
})

export const succeeded = (attemptId: string): AttemptEnd => ({
  attemptId,
  status: 'SUCCESS',
  httpStatus: 200,
  error: null,
  isReceiversFault: false,
  next: null,
})

/** @param next the id and the time of the next attempt */
export const failed = (attemptId: string, next: AttemptEnd['next'] = null): AttemptEnd => ({
  attemptId,
  status: 'FAILED',
  httpStatus: 503,
  error: 'The endpoint answered with status 503.',
  isReceiversFault: true,
  next,
})

export const interrupted = (attemptId: string, next: AttemptEnd['next'] = null): AttemptEnd => ({
  attemptId,
  status: 'FAILED',
  httpStatus: null,
  error: 'The service stopped during the call.',
  isReceiversFault: false,
  next,
})

export const postponed = (attemptId: string, dueAt: number): AttemptPostponement => ({
  attemptId,
  status: 'POSTPONED',
  dueAt,
  error: 'The endpoint was deleted.',
})

/** Makes calls to a queue shorter. */
export function createQueueDriver(deliveries: Deliveries & DeliveryLog) {
  let recorded: bigint | 'start' = 'start'
  const begin = async (endpointId: string, count: number, now: number): Promise<readonly Attempt[]> =>
    deliveries.begin([{ endpointId, count }], now)
  return {
    /** Records the changes in one batch, at the next position. */
    async record(...changes: readonly DeliveryChange[]): Promise<void> {
      const position: bigint = recorded === 'start' ? 1n : recorded + 1n
      assert(await deliveries.record({ after: recorded, position, changes }), 'another writer has moved the position')
      recorded = position
    },
    begin,
    /** Begins at most four attempts of an endpoint. @returns their ids */
    beginIds: async (endpointId: string, now: number = START): Promise<readonly string[]> =>
      (await begin(endpointId, 4, now)).map(({ id }) => id),
    findDueIds: async (now: number = START, except: readonly string[] = []): Promise<readonly string[]> =>
      (await deliveries.findDue({ shards: ALL_SHARDS, now, after: '', except, max: 100 })).map(({ id }) => id),
    /** The attempts of an event in the log, without their times. */
    listAttempts: async (eventId: string) =>
      (await deliveries.listAttempts([eventId])).map(({ id, endpointId, number, status }) => ({
        id,
        endpointId,
        number,
        status,
      })),
    hasBody: async (eventId: string): Promise<boolean> => (await deliveries.findRedeliverable([eventId])).length === 1,
  }
}

/** The store of the present case. */
export type DeliveriesUnderTest = {
  readonly deliveries: Deliveries & DeliveryLog
  readonly queue: ReturnType<typeof createQueueDriver>
}
