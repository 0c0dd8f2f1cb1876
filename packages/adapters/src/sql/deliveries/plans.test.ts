import type { Deliveries, DeliveryLog } from '@penstock/ports/deliveries.ts'
import { createQueueDriver, endpoint, event, failed, postponed, START, succeeded } from '@penstock/ports/deliveries.fixture.ts'
import type { Views } from '@penstock/ports/views.ts'
import { CompiledQuery, createQueryId, type KyselyPlugin, type RootOperationNode } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openViews } from '../../sqlite/views.ts'
import { sqlDeliveries } from '../deliveries.ts'

type Call = (deliveries: Deliveries & DeliveryLog) => Promise<unknown>

const shards = [0, 1, 2, 3]
const page = { environmentId: 'shop', limit: 9, offset: 0 }
const bounds = { bodiesBefore: START + 2, rowsBefore: START + 1, max: 9 }

let views: Views
let deliveries: Deliveries & DeliveryLog
const nodes: RootOperationNode[] = []
const recorder: KyselyPlugin = {
  transformQuery({ node }) {
    nodes.push(node)
    return node
  },
  transformResult: async ({ result }) => result,
}

beforeEach(async () => {
  views = openViews(':memory:')
  deliveries = await sqlDeliveries({ ...views, db: views.db.withPlugin(recorder) })
  const queue = createQueueDriver(deliveries)
  await queue.record(endpoint('a'), ...['e1', 'e2', 'e3'].map((id) => event(id, ['a'])))
  await queue.begin('a', 2, START)
})
afterEach(() => views.close())

/** @returns the steps of SQLite's plans for the queries of a call */
async function explain(call: Call): Promise<readonly string[]> {
  nodes.length = 0
  await call(deliveries)
  const steps: string[] = []
  for (const node of nodes) {
    const { sql, parameters } = views.db.getExecutor().compileQuery(node, createQueryId())
    const explained = CompiledQuery.raw(`explain query plan ${sql}`, [...parameters])
    const { rows } = await views.db.executeQuery<{ detail: string }>(explained)
    steps.push(...rows.map(({ detail }) => detail))
  }
  return steps
}

test.each<readonly [string, string, Call]>([
  [
    'due endpoints',
    'webhook_attempts_open (endpoint_id>?)',
    (d) => d.findDue({ shards, now: START, after: '', except: ['b'], max: 64 }),
  ],
  ['the next due time', 'webhook_attempts_open (endpoint_id>?)', (d) => d.findNextDueAt(shards, [])],
  [
    'begun attempts',
    'webhook_attempts_open (endpoint_id=? AND due_at<?)',
    (d) => d.begin([{ endpointId: 'a', count: 2 }], START),
  ],
  [
    'ended attempts',
    'sqlite_autoindex_webhook_attempts_1 (id=?)',
    (d) => d.end([succeeded('e1-a'), failed('e2-a', { attemptId: 'second', at: START })], START),
  ],
  ['postponed attempts', 'sqlite_autoindex_webhook_attempts_1 (id=?)', (d) => d.end([postponed('e1-a', START + 1)], START)],
  [
    'attempts in progress',
    'webhook_attempts_in_progress (shard=?)',
    (d) => d.findInProgress({ shard: 0, begunBefore: START, except: ['e1-a'] }),
  ],
  ['counts', 'webhook_attempts_open (endpoint_id=? AND due_at<?)', (d) => d.count(START)],
  ['pruned events', 'webhook_events_without_body (created_at<?)', (d) => d.prune(bounds)],
  ['an event', 'webhook_events_by_envelope (envelope_id=?)', (d) => d.findEvent('e1')],
  ['attempts of events', 'webhook_attempts_of_event (event_id=?)', (d) => d.listAttempts(['e1', 'e2'])],
  ['events of an environment', 'webhook_events_of_environment (environment_id=?)', (d) => d.listEvents(page)],
  ['events of a type', 'webhook_events_of_type (environment_id=? AND type=?)', (d) => d.listEvents({ ...page, type: 'test' })],
  ['events of a wallet', 'webhook_events_of_wallet (wallet_id=?)', (d) => d.listEvents({ ...page, walletId: 'wallet' })],
  [
    'events of a transaction',
    'webhook_events_of_transaction (transaction_id=?)',
    (d) => d.listEvents({ ...page, transactionId: 'transaction' }),
  ],
  [
    'events of an endpoint',
    'webhook_attempts_first (endpoint_id=? AND event_created_at>? AND event_created_at<?)',
    (d) => d.listEvents({ ...page, endpointId: 'a' }),
  ],
  [
    'a batch of changes',
    'webhook_attempts_open (endpoint_id=?)',
    (d) =>
      d.record({
        after: 1n,
        position: 2n,
        changes: [
          { kind: 'resumed', endpointId: 'a', endBefore: START, at: START },
          { kind: 'redelivery', eventId: 'e1', endpointId: 'a', attemptId: 'again', at: START },
          { kind: 'wallet-deleted', walletId: 'wallet' },
          { kind: 'endpoint-deleted', endpointId: 'unknown' },
          { kind: 'environment-deleted', environmentId: 'shop' },
        ],
      }),
  ],
])('the queries for %s read by an index and scan no table', async (_, index, call) => {
  const steps = await explain(call)
  expect(steps.join()).toContain(`INDEX ${index}`)
  // The recursion scans its own result. The second index contains only the attempts in progress.
  const allowed = /^SCAN (?:waiting|next|webhook_attempts USING INDEX webhook_attempts_in_progress)$/
  expect(steps.filter((step) => step.startsWith('SCAN') && !allowed.test(step))).toEqual([])
})
