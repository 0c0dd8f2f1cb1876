import assert from 'node:assert/strict'
import fc from 'fast-check'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findBuyer, listSimNodes } from '../support/market-client.ts'
import { type Product, makeTempFolder, startProduct } from '../support/product.ts'
import { diffNetwork, snapshotNetwork } from './checks/state-snapshot.ts'

/** In this file, an operator sends well-formed requests that are impossible. Each must be refused and change nothing. */

let product: Product
let buyer: { readonly alias: string; readonly pubkey: string }
let outpoint: string
let token: string
beforeAll(async () => {
  // Blocks are mined only on request, so that every change of the network is caused by a request.
  product = await startProduct(makeTempFolder(), { PENSTOCK_SIM_BLOCK_SECONDS: '0' })
  buyer = await findBuyer(product)
  const channels = await product.operator<readonly { readonly outpoint: string }[]>('GET', `/sim/channels/${buyer.alias}`)
  outpoint = channels[0]?.outpoint ?? assert.fail('the buyer has no channel')
  token = readFileSync(join(product.dataDir, 'operator.token'), 'utf8').trim()
})
afterAll(() => product.stop())

const SATS = '50000'

async function postToOperator(path: string, body: object): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(`${product.url}/operator${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, text: await response.text() }
}

/** Asserts that a request is refused and changes nothing. */
async function assertRefused(path: string, body: object, message: RegExp): Promise<void> {
  const tablesBefore = snapshotNetwork(product.dataDir)
  const { status, text } = await postToOperator(path, body)
  assert.ok(status >= 400 && status < 500, `${status}: ${text}`)
  assert.match(text, message)
  assert.deepEqual(diffNetwork(tablesBefore, snapshotNetwork(product.dataDir)), [])
}

const unknownPubkey = fc
  .stringMatching(/^[\w .'"%\\/<>-]{1,64}$/)
  .filter((name) => !['buyer', 'market', 'seller', 'spare'].some((known) => name.startsWith(known)))
const unknownOutpoint = fc
  .tuple(fc.stringMatching(/^[0-9a-f]{64}$/), fc.integer({ min: 0, max: 99_999 }))
  .map(([txid, vout]) => `${txid}:${vout}`)

describe('the simulated network refuses to an operator', () => {
  test.each([
    ['/sim/behave', (alias: string) => ({ alias, how: 'ok' })],
    ['/sim/sign', (alias: string) => ({ alias, text: 'anything' })],
    ['/sim/invoice', (alias: string) => ({ alias, sats: SATS })],
    ['/sim/open', (alias: string) => ({ alias, pubkey: buyer.pubkey, sats: SATS })],
  ])('%s of an unknown node', async (path, body) => {
    await fc.assert(
      fc.asyncProperty(unknownPubkey, (alias) => assertRefused(path, body(alias), /no node|knows no|nobody/i)),
      { numRuns: 10 },
    )
  })

  test('the close of an unknown channel', () =>
    fc.assert(
      fc.asyncProperty(unknownOutpoint, (wrongOutpoint) =>
        assertRefused('/sim/close', { outpoint: wrongOutpoint }, /no open channel/),
      ),
      { numRuns: 20 },
    ))

  test('the second close of a channel', async () => {
    expect(await postToOperator('/sim/close', { outpoint })).toMatchObject({ status: 200 })
    await assertRefused('/sim/close', { outpoint }, /no open channel/)
  })

  test('an unknown behaviour', () =>
    fc.assert(
      fc.asyncProperty(fc.stringMatching(/^[A-Z ]{0,32}$/), (how) =>
        assertRefused('/sim/behave', { alias: buyer.alias, how }, /behaves/),
      ),
      { numRuns: 10 },
    ))

  test('channels that are too small, too large, or larger than the coins of the node', async () => {
    const peer =
      (await listSimNodes(product)).find(({ pubkey }) => pubkey !== buyer.pubkey) ?? assert.fail('there is no other node')
    const request = { alias: buyer.alias, pubkey: peer.pubkey }
    for (const sats of ['1', '19999', '1000000001', '2100000000000000'])
      await assertRefused('/sim/open', { ...request, sats }, /a channel has 20000 to 1000000000 sat/)
    await assertRefused('/sim/open', { ...request, sats: '1000000000' }, /too few confirmed coins/)
  })

  test('a channel with a key that belongs to no node', () =>
    assertRefused('/sim/open', { alias: buyer.alias, pubkey: `02${'77'.repeat(32)}`, sats: SATS }, /not connected to/))

  test('the payment of a text that is not an invoice', () =>
    fc.assert(
      fc.asyncProperty(fc.stringMatching(/^(?:lnbcrt|lnbc|)[0-9a-z]{1,300}$/), (invoice) =>
        assertRefused('/sim/pay', { invoice }, /not a BOLT 11 invoice/),
      ),
      { numRuns: 30 },
    ))

  test('a payment from an unknown node', async () => {
    const { text } = await postToOperator('/sim/invoice', { alias: buyer.alias, sats: SATS })
    const { invoice } = JSON.parse(text) as { invoice: string } // as the route answers
    await assertRefused('/sim/pay', { invoice, from: 'nobody at all' }, /no node|knows no|nobody/i)
  })

  test('a re-organisation of more blocks than there are', async () => {
    expect(await postToOperator('/sim/mine', { blocks: 1 })).toMatchObject({ status: 200 })
    for (const depth of [2, 100]) await assertRefused('/sim/reorg', { depth }, /a re-org takes 1 to 1 blocks/)
    for (const depth of [0, -1, 101, 0.5]) await assertRefused('/sim/reorg', { depth }, /depth/)
  })
})
