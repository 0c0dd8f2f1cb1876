import { HOUR_MS } from '@penstock/kernel/time.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { deleteEnvironments, eraseDeletedContent } from '../erase.ts'
import { FOREIGN_TEAM, TEAM } from '../payments.fixture.ts'
import type { ErasureTables } from '../views/tables.ts'
import { openWebhooksHarness, ROTATE, type WebhooksHarness } from './webhooks.fixture.ts'

let market: WebhooksHarness
beforeEach(async () => void (market = await openWebhooksHarness()))
afterEach(() => market.harness.close())

/** Runs the prune job of payments an hour later. */
const runErasure = (more: Partial<Parameters<typeof eraseDeletedContent>[0]> = {}) => {
  const { gateway } = market.harness
  return eraseDeletedContent({ ...gateway, clock: { ...gateway.clock, now: () => gateway.clock.now() + HOUR_MS }, ...more })
}
const DELETE = 'mutation ($id: String!) { payment { environment { delete(id: $id) } } }'
const rotate = (id: string) => market.call(ROTATE, { id }, 'payment.webhook_endpoint.rotate_secret')
/** The ids of the stored URLs and secrets. */
const listRecords = async (): Promise<readonly string[]> => {
  const db = market.harness.gateway.views.db.$extendTables<{ records: { id: string; kind: string } }>()
  const rows = await db.selectFrom('records').select('id').where('kind', 'in', ['webhook-url', 'webhook-secret']).execute()
  return rows.map(({ id }) => id).toSorted()
}
const listRecordErasures = async () => {
  const db = market.harness.gateway.views.db.$extendTables<ErasureTables>()
  return db.selectFrom('gateway_payments_erasures').select('id').where('kind', '=', 'record').execute()
}

test('the URLs and all secrets of the endpoints of a deleted environment are erased, and those of others stay', async () => {
  await market.create({ environment_id: (await market.createSandbox('other')).environmentId })
  const others = await listRecords()
  const { id } = await market.create()
  await rotate(id)
  await rotate(id)
  await market.create()
  assert.equal((await listRecords()).length, others.length + 6)
  await market.gql(DELETE, { id: market.environmentId })
  await runErasure()
  assert.deepEqual(await listRecords(), others)
})

test('the URLs and secrets of the endpoints of a deleted team are erased', async () => {
  const token = await market.logIn(FOREIGN_TEAM)
  await market.create({ environment_id: (await market.createSandbox('foreign', token)).environmentId }, token)
  const others = await listRecords()
  await market.create()
  await deleteEnvironments(market.harness.gateway, TEAM)
  await runErasure()
  assert.deepEqual(await listRecords(), others)
})

test('an interrupted erasure of an environment is continued', async () => {
  await rotate((await market.create()).id)
  await market.gql(DELETE, { id: market.environmentId })
  const { records } = market.harness.gateway
  const secrets = await listRecords()
  const failing = {
    ...records,
    delete: async (...ids: readonly string[]) => {
      if (!ids.some((id) => secrets.includes(id))) return records.delete(...ids)
      await records.delete(...ids.slice(0, 1))
      throw new Error('the process ends')
    },
  }
  await assert.rejects(runErasure({ records: failing }), /the process ends/)
  assert.equal((await listRecords()).length, 2)
  await runErasure()
  assert.deepEqual(await listRecords(), [])
})

test('the records of an endpoint are erased although the gateway crashed after its deletion', async () => {
  const { id } = await market.create()
  await rotate(id)
  await market.project('endpoint', id, [{ type: 'EndpointDeleted', data: {} }])
  assert.equal((await listRecords()).length, 3)
  await runErasure()
  assert.deepEqual([await listRecords(), await listRecordErasures()], [[], []])
})

test('a replaced URL is erased although the gateway crashed after the change, and the new URL stays', async () => {
  const { id } = await market.create()
  const secret = market.listSent('CreateEndpoint')[0]?.data['secretRecord'] ?? assert.fail()
  const { records, clock, ids } = market.harness.gateway
  const urlRecord = ids.uuid()
  await records.put(urlRecord, 'webhook-url', '{"url":"https://shop.example.com/new"}', clock.now())
  for (const filters of [[], ['payment.failed']])
    await market.project('endpoint', id, [{ type: 'EndpointChanged', data: { urlRecord, filters } }])
  await runErasure()
  assert.deepEqual(await listRecords(), [urlRecord, secret].toSorted())
})
