import { randomUUID } from 'node:crypto'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { memoryVault } from '@penstock/adapters/memory/vault.ts'
import { sqlDeliveries } from '@penstock/adapters/sql/deliveries.ts'
import { sqlRecords } from '@penstock/adapters/sql/records.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import { bind, run } from '@penstock/runtime/run.ts'
import { createGuardedAgent, type GuardedAgent } from '@penstock/outbound/guarded-agent.ts'
import { postOnce } from '@penstock/outbound/post-once.ts'
import { paymentsService } from '@penstock/payments/service.ts'
import type { DeliveryChange } from '@penstock/ports/deliveries.ts'
import type { WebhookRequest } from '@penstock/ports/post-webhook.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'

const TIMEOUT_MS = 15_000
const ENVIRONMENT_ID = '00000000-0000-4000-8000-000000000001'
const EVENTS_PER_TRANSACTION = 2
/** Changes per commit, like a batch of facts. */
const BATCH = 1000

export const SECRET = `whsec_${'A'.repeat(43)}=`

/** The client that the market's sender uses, with connections to this machine. */
export const createAgent = (): GuardedAgent =>
  createGuardedAgent({
    guard: () => Promise.resolve({ allowed: false, reason: 'the benchmark calls this machine only' }),
    allowLoopback: true,
  })

export const post = (agent: GuardedAgent, request: WebhookRequest) => postOnce(agent, { ...request, timeoutMs: TIMEOUT_MS })

/** The URLs of endpoints. Each has as many deliveries as the others. */
export type Load = { readonly urls: readonly string[]; readonly deliveries: number }

/** A body of the usual size. */
export const createBody = (n: number): string =>
  JSON.stringify({
    id: `payment.completed:${n}`,
    event_type: 'payment.completed',
    environment: 'sandbox',
    created_at: '2026-01-01T00:00:00.000Z',
    transaction: { id: `${n}`, description: 'x'.repeat(100), metadata: 'y'.repeat(100), payment_request: 'z'.repeat(300) },
  })

const ids = systemIds()

const endpointIdOf = (n: number): string => `00000000-0000-4000-9000-${String(n).padStart(12, '0')}`

/** Stores deliveries that are due, in a database file. */
export async function storeDeliveries(path: string, { urls, deliveries }: Load): Promise<void> {
  const views = openViews(path)
  const queue = await sqlDeliveries(views)
  let position = 0n
  const record = async (changes: readonly DeliveryChange[]): Promise<void> => {
    const after = position === 0n ? 'start' : position
    if (!(await queue.record({ after, position: position + 1n, changes }))) throw new Error('another process writes the queue')
    position++
  }
  await record(
    urls.map((url, n) => ({
      kind: 'endpoint',
      settings: {
        id: endpointIdOf(n),
        environmentId: ENVIRONMENT_ID,
        urlRecord: url,
        secrets: [{ record: SECRET, validUntil: null }],
        filters: [],
        active: true,
      },
    })),
  )
  const now = Date.now()
  for (let from = 0; from < deliveries; from += BATCH)
    await record(Array.from({ length: Math.min(BATCH, deliveries - from) }, (_, i) => createEvent(from + i, urls.length, now)))
  await views.close()
}

/** Consecutive events of an endpoint are the events of one transaction. */
function createEvent(n: number, endpoints: number, now: number): DeliveryChange {
  const [endpoint, nth] = [n % endpoints, Math.floor(n / endpoints)]
  const transaction = `${endpoint}-${Math.floor(nth / EVENTS_PER_TRANSACTION)}`
  return {
    kind: 'event',
    event: {
      // Ids of facts are spread, as hashes are. Those of attempts increase.
      id: randomUUID(),
      envelopeId: `payment.completed:${n}`,
      environmentId: ENVIRONMENT_ID,
      walletId: `wallet-${endpoint}`,
      transactionId: transaction,
      sequence: nth % EVENTS_PER_TRANSACTION,
      type: 'payment.completed',
      body: createBody(n),
      createdAt: now,
    },
    deliveries: [{ endpointId: endpointIdOf(endpoint), attemptId: ids.uuid(), maxAttempts: 8 }],
  }
}

/**
 * Runs the payments service on stored deliveries.
 * @param onSent is called after each answered request
 */
export async function startSender(path: string, agent: GuardedAgent, onSent: (request: WebhookRequest) => void) {
  const { platform, store } = await createMemoryPlatform()
  const views = openViews(path)
  const records = await sqlRecords(platform.views)
  const ports = {
    facts: store,
    // The records of these deliveries have the URL and the secret as their names.
    records: {
      ...records,
      get: (id: string) => Promise.resolve({ id, kind: 'webhook-url', json: JSON.stringify({ url: id }), at: 0 }),
    },
    deliveries: await sqlDeliveries(views),
    opener: { ...memoryVault(new Uint8Array(32)), open: (record: string) => Promise.resolve(record) },
    postWebhook: async (request: WebhookRequest) => {
      const answer = await post(agent, request)
      if (answer.kind === 'answered') onSent(request)
      return answer
    },
  }
  const running = await run([bind(paymentsService(), ports)], platform)
  return {
    async close() {
      await running.close()
      await views.close()
      await platform.views.close()
    },
  }
}
