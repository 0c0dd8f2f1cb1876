import assert from 'node:assert/strict'
import fc from 'fast-check'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buyerOf, simNodes } from '../harness/buyer.ts'
import { type Product, scratch, startProduct } from '../harness/product.ts'
import { movedIn, worldOf } from './keeping.ts'

/** What operators ask for in the right form and cannot have: they are told so, and nothing has moved. */

let product: Product
let buyer: { readonly alias: string; readonly pubkey: string }
let outpoint: string
let token: string
beforeAll(async () => {
  // Blocks by hand only, so that whatever moves in the network was moved by a request.
  product = await startProduct(scratch(), { PENSTOCK_SIM_BLOCK_SECONDS: '0' })
  buyer = await buyerOf(product)
  const channels = await product.operator<readonly { readonly outpoint: string }[]>('GET', `/sim/channels/${buyer.alias}`)
  outpoint = channels[0]?.outpoint ?? assert.fail('the buyer has no channel')
  token = readFileSync(join(product.dataDir, 'operator.token'), 'utf8').trim()
})
afterAll(() => product.stop())

const SATS = '50000'

async function asked(path: string, body: object): Promise<{ readonly status: number; readonly said: string }> {
  const response = await fetch(`${product.url}/operator${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, said: await response.text() }
}

/** @throws where it is carried out, or changes something nonetheless */
async function isRefused(path: string, body: object, sentence: RegExp): Promise<void> {
  const world = worldOf(product.dataDir)
  const { status, said } = await asked(path, body)
  assert.ok(status >= 400 && status < 500, `${status}: ${said}`)
  assert.match(said, sentence)
  assert.deepEqual(movedIn(world, worldOf(product.dataDir)), [])
}

const nobody = fc
  .stringMatching(/^[\w .'"%\\/<>-]{1,64}$/)
  .filter((name) => !['buyer', 'market', 'seller', 'spare'].some((known) => name.startsWith(known)))
const nowhere = fc
  .tuple(fc.stringMatching(/^[0-9a-f]{64}$/), fc.integer({ min: 0, max: 99_999 }))
  .map(([txid, vout]) => `${txid}:${vout}`)

describe('an operator who asks the simulated network', () => {
  test.each([
    ['/sim/behave', (alias: string) => ({ alias, how: 'ok' })],
    ['/sim/sign', (alias: string) => ({ alias, text: 'anything' })],
    ['/sim/invoice', (alias: string) => ({ alias, sats: SATS })],
    ['/sim/open', (alias: string) => ({ alias, pubkey: buyer.pubkey, sats: SATS })],
  ])('for %s of a node that is not there', async (path, body) => {
    await fc.assert(
      fc.asyncProperty(nobody, (alias) => isRefused(path, body(alias), /no node|knows no|nobody/i)),
      { numRuns: 10 },
    )
  })

  test('to end a channel that is not there', () =>
    fc.assert(
      fc.asyncProperty(nowhere, (wrong) => isRefused('/sim/close', { outpoint: wrong }, /no open channel/)),
      { numRuns: 20 },
    ))

  test('to end a channel twice', async () => {
    expect(await asked('/sim/close', { outpoint })).toMatchObject({ status: 200 })
    await isRefused('/sim/close', { outpoint }, /no open channel/)
  })

  test('for a behaviour that there is not', () =>
    fc.assert(
      fc.asyncProperty(fc.stringMatching(/^[A-Z ]{0,32}$/), (how) =>
        isRefused('/sim/behave', { alias: buyer.alias, how }, /behaves/),
      ),
      { numRuns: 10 },
    ))

  test('for channels that are too small, too large, or dearer than what the node has', async () => {
    const peer = (await simNodes(product)).find(({ pubkey }) => pubkey !== buyer.pubkey) ?? assert.fail('there is no other node')
    const wanted = { alias: buyer.alias, pubkey: peer.pubkey }
    for (const sats of ['1', '19999', '1000000001', '2100000000000000'])
      await isRefused('/sim/open', { ...wanted, sats }, /a channel has 20000 to 1000000000 sat/)
    await isRefused('/sim/open', { ...wanted, sats: '1000000000' }, /too few confirmed coins/)
  })

  test('for a channel with a key that is no node’s', () =>
    isRefused('/sim/open', { alias: buyer.alias, pubkey: `02${'77'.repeat(32)}`, sats: SATS }, /not connected to/))

  test('to pay what is no invoice', () =>
    fc.assert(
      fc.asyncProperty(fc.stringMatching(/^(?:lnbcrt|lnbc|)[0-9a-z]{1,300}$/), (invoice) =>
        isRefused('/sim/pay', { invoice }, /not a BOLT 11 invoice/),
      ),
      { numRuns: 30 },
    ))

  test('to pay from a node that is not there', async () => {
    const { said } = await asked('/sim/invoice', { alias: buyer.alias, sats: SATS })
    const { invoice } = JSON.parse(said) as { invoice: string } // as the route answers
    await isRefused('/sim/pay', { invoice, from: 'nobody at all' }, /no node|knows no|nobody/i)
  })

  test('to take back more blocks than there are', async () => {
    expect(await asked('/sim/mine', { blocks: 1 })).toMatchObject({ status: 200 })
    for (const depth of [2, 100]) await isRefused('/sim/reorg', { depth }, /a re-org takes 1 to 1 blocks/)
    for (const depth of [0, -1, 101, 0.5]) await isRefused('/sim/reorg', { depth }, /depth/)
  })
})
