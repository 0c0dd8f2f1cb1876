import { createPublicHostGuard } from '@penstock/outbound/host-guard.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { codeOf } from '../keys/service-keys.fixture.ts'
import { CREATE, HOOK_URL, openWebhooksHarness, UPDATE, type WebhooksHarness } from './webhooks.fixture.ts'

/** A name server with a public name, and one that stands for an address inside. */
const addresses: Readonly<Record<string, readonly string[]>> = {
  'shop.example.com': ['8.8.8.8'],
  'inside.example.com': ['10.0.0.1'],
}
const webhookGuard = createPublicHostGuard({ resolve: async (name) => addresses[name] ?? [], hasTor: async () => false })

let market: WebhooksHarness
beforeEach(async () => void (market = await openWebhooksHarness({}, { webhookGuard })))
afterEach(() => market.harness.close())

/** The commands and the stored records so far. */
const countEffects = async () => {
  const { db } = market.harness.gateway.views
  const records = await db.$extendTables<{ records: { id: string } }>().selectFrom('records').select('id').execute()
  return { commands: market.harness.sent.length, records: records.length }
}
const create = (url: string) => market.gql(CREATE, { input: { environment_id: market.environmentId, url } })

/** The URLs of the acceptance test, and the limits of the text. */
const refused: readonly (readonly [string, string, RegExp])[] = [
  ['http', 'http://example.com/x', /begins with https/],
  ['a private address', 'https://10.0.0.1/', /special purposes/],
  ['an address of a home network', 'https://192.168.1.1/', /special purposes/],
  ['the address of cloud metadata', 'https://169.254.169.254/', /special purposes/],
  ['a private IPv6 address', 'https://[fd00::1]/', /special purposes/],
  ['a private address inside IPv6', 'https://[::ffff:10.0.0.1]/', /special purposes/],
  ['a private address as one number', 'https://167772161/', /special purposes/],
  ['a private address with a hexadecimal part', 'https://0x0a.0.0.1/', /special purposes/],
  ['a local name', 'https://printer.local/', /local networks/],
  ['an internal name', 'https://db.internal/', /local networks/],
  ['a password', 'https://user:pass@example.com/', /no user name and no password/],
  ['ftp', 'ftp://example.com/', /begins with https/],
  ['a text that is no URL', 'nonsense', /absolute https URL/],
  ['a name that stands for an address inside', 'https://inside.example.com/', /does not stand for public addresses/],
  ['this machine', 'https://127.0.0.1:8080/', /special purposes/],
  ['a port below 1024', 'https://shop.example.com:22/', /port of a webhook URL/],
  ['a fragment', 'https://shop.example.com/#part', /no fragment/],
  ['2049 characters', `https://shop.example.com/${'x'.repeat(2028)}`, /at most 2048 characters/],
]

describe('the URL of an endpoint', () => {
  test.each(refused)('is refused with %s, before anything is stored or sent', async (_, url, message) => {
    const { id } = await market.create()
    const before = await countEffects()
    for (const answer of [await create(url), await market.gql(UPDATE, { input: { id, url } })]) {
      assert.match(answer.errors?.[0]?.message ?? '', message)
      assert.equal(codeOf(answer), 'GRAPHQL_VALIDATION_FAILED')
    }
    assert.deepEqual(await countEffects(), before)
    assert.equal((await market.findEndpoint(id)).url, HOOK_URL)
  })
  test.each([
    ['a path and a query', 'https://shop.example.com/hook?till=1', 'https://shop.example.com/hook?till=1'],
    ['a port from 1024 on', 'https://shop.example.com:8443/', 'https://shop.example.com:8443/'],
    ['a public address', 'https://8.8.8.8/hook', 'https://8.8.8.8/hook'],
    ['capitals in its host', 'https://SHOP.example.com', 'https://shop.example.com/'],
  ])('may have %s', async (_, url, shown) => assert.equal((await market.create({ url })).endpoint.url, shown))
  test('may lead to this machine if the operator allows it', async () => {
    const local = await openWebhooksHarness({ PENSTOCK_WEBHOOK_ALLOW_LOOPBACK: '1' }, { webhookGuard })
    assert.equal((await local.create({ url: 'http://127.0.0.1:80/hook' })).endpoint.url, 'http://127.0.0.1/hook')
    await local.harness.close()
  })
})
