/**
 * The durable queue of webhook deliveries, and its log. Its rows come from stored facts, in the order of the log. One writer
 * at a time records them: each batch names the position that the feed had before.
 *
 * A delivery is one event for one endpoint. An attempt of a delivery is a committed row before its request is sent. All times
 * are milliseconds since 1970. Every method throws `Fault` if the database does not answer, and changes nothing then.
 */
export interface Deliveries {
  /** The position of the last recorded fact in the log. */
  readPosition(): Promise<bigint | 'start'>
  /** A present endpoint, switched off or on. */
  findEndpoint(id: string): Promise<WebhookEndpointSettings | undefined>
  /** The present endpoints of these environments, switched off or on. */
  findEndpoints(environmentIds: readonly string[]): Promise<readonly WebhookEndpointSettings[]>
  hasEndpoints(): Promise<boolean>
  /** Of these ids, the events whose body is still there. */
  findRedeliverable(eventIds: readonly string[]): Promise<readonly string[]>
  /**
   * Records a batch of changes in their order, with the new position, in one commit.
   * @returns false, and changes nothing, if the position is no longer `after`: another process has recorded a batch
   */
  record(batch: DeliveryBatch): Promise<boolean>

  /**
   * Finds attempts in progress of a shard. After a change of the lease, their process is gone. It may still commit a `begin` after
   * this search, so the holder of a shard repeats the search.
   */
  findInProgress(query: InProgressQuery): Promise<readonly Pick<Attempt, 'id' | 'number' | 'maxAttempts'>[]>
  /**
   * Active endpoints of the shards with a delivery that is due at `now`, in the order of their ids, without `except`. An endpoint
   * may be returned although its due deliveries wait for another event.
   */
  findDue(query: DueQuery): Promise<readonly DueEndpoint[]>
  /** The time of the next due delivery of active endpoints of the shards; null if none waits. */
  findNextDueAt(shards: readonly number[], except: readonly string[]): Promise<number | null>
  /**
   * Ends attempts, as `end` does, and then begins others: at most `count` for each endpoint, in the order of their times. In one
   * commit, each becomes an attempt in progress. The first attempt of an event waits until the first attempt of the
   * transaction's earlier events has ended at this endpoint. Two calls never begin the same attempt.
   */
  begin(
    requests: readonly { readonly endpointId: string; readonly count: number }[],
    now: number,
    ended?: readonly AttemptOutcome[],
  ): Promise<readonly Attempt[]>
  /** Ends or postpones attempts in one commit. An attempt that is not in progress is left as it is. */
  end(outcomes: readonly AttemptOutcome[], now: number): Promise<void>

  /**
   * Deletes the bodies of events before `bodiesBefore`, and ends their deliveries. Deletes all rows of events before `rowsBefore`.
   * Each concerns at most `max` events, the oldest first.
   * @returns whether more are left
   */
  prune(bounds: { readonly bodiesBefore: number; readonly rowsBefore: number; readonly max: number }): Promise<boolean>
  /** Counts for operators. `oldestDueAt`: of the delivery that has been due for longest at an active endpoint. */
  count(now: number): Promise<{ readonly due: number; readonly inProgress: number; readonly oldestDueAt: number | null }>
}

/** The settings of an endpoint as the facts have them. */
export type WebhookEndpointSettings = {
  readonly id: string
  readonly environmentId: string
  /** The id of the URL in the side table. */
  readonly urlRecord: string
  /** The valid secrets, newest first, by their ids in the side table. The newest has no end. */
  readonly secrets: readonly { readonly record: string; readonly validUntil: number | null }[]
  /** The event types that the endpoint takes; empty for all of them. */
  readonly filters: readonly string[]
  readonly active: boolean
}

/** Endpoints are divided into so many shards. A process sends for the shards whose lease it has. */
export const SHARD_COUNT = 4

export type DeliveryBatch = {
  readonly after: bigint | 'start'
  readonly position: bigint
  readonly changes: readonly DeliveryChange[]
}

export type DeliveryChange =
  /** Stores the settings of a new or a known endpoint. */
  | { readonly kind: 'endpoint'; readonly settings: WebhookEndpointSettings }
  /** Begins to send again: failures before `at` no longer count, and waiting deliveries of events before `endBefore` end. */
  | { readonly kind: 'resumed'; readonly endpointId: string; readonly endBefore: number; readonly at: number }
  /** Deletes an endpoint and ends its deliveries. Their attempts stay in the log. */
  | { readonly kind: 'endpoint-deleted'; readonly endpointId: string }
  /** Deletes the endpoints of an environment, ends their deliveries and deletes the bodies of its events. */
  | { readonly kind: 'environment-deleted'; readonly environmentId: string }
  /** Deletes the bodies of a wallet's events and ends their deliveries. */
  | { readonly kind: 'wallet-deleted'; readonly walletId: string }
  /** A new event, with a delivery for each endpoint. */
  | { readonly kind: 'event'; readonly event: WebhookEventRow; readonly deliveries: readonly NewDelivery[] }
  /**
   * One more attempt of an event, which takes none from a delivery that waits. It has no effect if the event has no body, if the
   * endpoint is deleted, or if the two are of different environments.
   */
  | {
      readonly kind: 'redelivery'
      readonly eventId: string
      readonly endpointId: string
      readonly attemptId: string
      readonly at: number
    }

export type WebhookEventRow = {
  /** The id of the fact that the event reports. */
  readonly id: string
  /** The id in the body, which stays the same for all attempts. */
  readonly envelopeId: string
  readonly environmentId: string
  /** Null for `webhook.test`. */
  readonly walletId: string | null
  readonly transactionId: string | null
  /** Orders the events of a transaction. */
  readonly sequence: number
  readonly type: string
  readonly body: string
  readonly createdAt: number
}

/** `attemptId`: the id of the first attempt. `maxAttempts`: 1 for a test. */
export type NewDelivery = { readonly endpointId: string; readonly attemptId: string; readonly maxAttempts: number }

/** `after`: the id before the first endpoint; empty to begin with the first of all. */
export type DueQuery = {
  readonly shards: readonly number[]
  readonly now: number
  readonly after: string
  readonly except: readonly string[]
  readonly max: number
}

/** `begunBefore`: only attempts that began earlier. A caller does not know the ids of attempts that it is beginning. */
export type InProgressQuery = { readonly shard: number; readonly begunBefore: number; readonly except: readonly string[] }

/** `failingSince`: the time of the first failure of the receiver since the last success; null if there is none. */
export type DueEndpoint = Pick<WebhookEndpointSettings, 'id' | 'urlRecord' | 'secrets'> & { readonly failingSince: number | null }

/** An attempt in progress, with all that its request needs. */
export type Attempt = {
  readonly id: string
  readonly endpointId: string
  readonly event: Pick<WebhookEventRow, 'id' | 'envelopeId' | 'type' | 'body' | 'environmentId'>
  /** Counts from 1 among the attempts of the event at the endpoint, with its redeliveries. */
  readonly number: number
  /** The number that the last attempt of this delivery may have. Redeliveries meanwhile make it larger. */
  readonly maxAttempts: number
}

export type AttemptOutcome = AttemptEnd | AttemptPostponement

export type AttemptEnd = {
  readonly attemptId: string
  readonly status: 'SUCCESS' | 'FAILED'
  readonly httpStatus: number | null
  /** A sentence for the owner of the endpoint; null after a success. */
  readonly error: string | null
  /**
   * Whether a request was sent, and failed at the receiver or on the way to it. Only such a failure begins the time for which
   * an endpoint fails. It is false for failures of the service itself, after which the receiver may be well.
   */
  readonly isReceiversFault: boolean
  /** The next attempt of the delivery; null if this was the last. It is ignored if the delivery has ended meanwhile. */
  readonly next: { readonly attemptId: string; readonly at: number } | null
}

/**
 * An attempt without a request, because the service could not make one. It becomes pending again, with the same number, and is
 * due at `dueAt`. If its endpoint is deleted meanwhile, the attempt ends as FAILED with this error.
 */
export type AttemptPostponement = {
  readonly attemptId: string
  readonly status: 'POSTPONED'
  readonly dueAt: number
  /** A sentence for the owner of the endpoint. */
  readonly error: string
}

/** The log of webhook deliveries, for its readers. Newest first by (created, id). */
export interface DeliveryLog {
  /** By the id of the event, or by the id in its body. */
  findEvent(id: string): Promise<LoggedEvent | undefined>
  listEvents(query: EventQuery): Promise<{ readonly totalCount: number; readonly events: readonly LoggedEvent[] }>
  /** The attempts of these events, oldest first, and the ones that are due. */
  listAttempts(eventIds: readonly string[]): Promise<readonly LoggedAttempt[]>
}

export type LoggedEvent = Omit<WebhookEventRow, 'body' | 'sequence'> & {
  /** Null after its deletion. */
  readonly body: string | null
}

export type EventQuery = {
  readonly environmentId: string
  readonly walletId?: string
  readonly transactionId?: string
  readonly type?: string
  /** Only events with a delivery for this endpoint. */
  readonly endpointId?: string
  /** Inclusive. */
  readonly from?: number
  /** Exclusive. */
  readonly to?: number
  readonly limit: number
  readonly offset: number
}

export type LoggedAttempt = {
  readonly id: string
  readonly eventId: string
  readonly endpointId: string
  readonly number: number
  readonly status: 'PENDING' | 'IN_PROGRESS' | 'SUCCESS' | 'FAILED'
  readonly httpStatus: number | null
  readonly error: string | null
  /** The time at which a PENDING attempt is due; else null, and null while its endpoint is switched off. */
  readonly nextAttemptAt: number | null
  readonly createdAt: number
  readonly updatedAt: number
}
