import { attestationText } from '@penstock/bitcoin/attestation.ts'
import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { sign } from '@penstock/bitcoin/message-signature.ts'
import { pubkeyOf } from '@penstock/bitcoin/pubkey.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import type { Candidate } from '@penstock/contracts/shapes.ts'
import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import { openSpeakers } from './agents.ts'
import type { Belonging, Owners } from './owners.ts'
import type { Caller } from './shot.ts'
import { type Identity, mayDo, shownOfOthers, shownToAll } from './trespass.ts'

const id = (letter: string): string => `01a1f000-0000-7000-8000-${letter.repeat(12)}`
const [OWN, OTHER, KEY, OFFER, ACCOUNT] = ['a', 'b', 'c', 'd', 'e'].map(id) as [string, string, string, string, string]
const [ME, SELLER] = [id('1'), id('2')]
const NODE = `02${'ab'.repeat(32)}`

const order = (buyer: string, source = 'buy', at = 1000): Belonging => ({
  what: 'order',
  at,
  buyer,
  sellers: new Set([SELLER]),
  source,
})
const owners: Owners = {
  belongings: new Map<string, Belonging>([
    [OWN, order(ME)],
    [OTHER, order(ACCOUNT)],
    [KEY, { what: 'API key', owner: ACCOUNT }],
    [OFFER, { what: 'offer', owner: SELLER, pubkey: NODE }],
    [ACCOUNT, { what: 'account', at: 1000 }],
  ]),
  nodes: new Map([[NODE, SELLER]]),
  catchUp: () => Promise.resolve(),
  close: () => Promise.resolve(),
}
const GET = 'query user.market.orders.get_order'
const seen = (data: unknown, identity: Identity | null = { account: ME }, target = GET, since = 2000) =>
  shownOfOthers(data, { target, identity: identity ?? undefined, since }, owners)

describe('what an answer shows', () => {
  test('of orders is for their buyer and their sellers', () => {
    expect(seen({ id: OWN })).toBeUndefined()
    expect(seen({ id: OWN }, { account: SELLER })).toBeUndefined()
    expect(seen({ list: [{ id: OWN }, { id: `${OTHER}/seller` }] })).toMatch(/shows the order .*b{12} to somebody else/)
    expect(seen({ id: OWN }, { account: SELLER }, 'mutation market.order.seller.accept')).toBeUndefined()
    expect(seen({ id: OWN }, { account: ME }, 'mutation market.order.seller.accept')).toMatch(/shows the order/)
  })

  test('through the key of an order is nothing but that order', () => {
    const identity = { account: ACCOUNT, only: OTHER }
    expect(seen({ id: OTHER }, identity)).toBeUndefined()
    for (const data of [OWN, KEY, ACCOUNT]) expect(seen({ id: data }, identity)).toMatch(/to somebody else/)
  })

  test('of an order is the side of whoever asks', () => {
    expect(seen({ id: OWN, is_seller: false })).toBeUndefined()
    expect(seen({ id: OWN, is_seller: true })).toMatch(/as its seller, to somebody else/)
    expect(seen([{ id: OWN, is_seller: false }], { account: SELLER })).toMatch(/as its buyer, to somebody else/)
    expect(seen({ id: id('f'), is_seller: false })).toMatch(/an order .*f{12} that was never placed/)
  })

  test('to a stranger is what has come to be by this very request', () => {
    expect(seen({ id: OTHER }, null, 'mutation liquidity.buy', 1000)).toBeUndefined()
    expect(seen({ id: OTHER }, null, 'mutation liquidity.buy', 1001)).toMatch(/the order/)
    expect(seen({ account: { id: ACCOUNT } }, null, 'mutation liquidity.buy', 1001)).toMatch(/the account/)
    expect(seen({ id: ACCOUNT }, null, 'mutation account.login', 1001)).toBeUndefined()
  })

  test('of offers, API keys, accounts and nodes is for those who have them, but for the book', () => {
    const update = 'mutation market.offer.update'
    expect(seen({ list: [{ id: OFFER }] }, null, 'query market.offer.offers')).toBeUndefined()
    expect(seen({ id: OFFER }, { account: SELLER }, update)).toBeUndefined()
    expect(seen({ id: OFFER }, { account: ME }, update)).toMatch(/the offer/)
    expect(
      shownOfOthers({ id: OFFER }, { target: update, identity: { account: SELLER }, since: 0 }, { ...owners, nodes: new Map() }),
    ).toMatch(/the offer/)
    expect(seen({ id: KEY }, { account: ACCOUNT }, 'query account.api_keys')).toBeUndefined()
    expect(seen({ id: KEY }, { account: ME }, 'mutation account.revoke_api_key')).toMatch(/the API key/)
    expect(seen({ id: ACCOUNT }, { account: ME }, 'query account.me')).toMatch(/the account/)
    expect(seen({ nodes: [{ pubkey: NODE }] }, { account: SELLER }, 'query account.me')).toBeUndefined()
    expect(seen({ nodes: [{ pubkey: NODE }] }, { account: ME }, 'query account.me')).toMatch(/the node/)
  })

  test('without being asked for a credential is a wallet’s own order', () => {
    const lsps: Owners = {
      ...owners,
      belongings: new Map([
        [OWN, order(ME, 'lsps1-cheapest')],
        [OTHER, order(ME)],
      ]),
    }
    const text = (order_id: string) => JSON.stringify({ order_id })
    expect(shownToAll('/API/lsp/v1/cheapest/get_order?x', text(OWN), lsps)).toBeUndefined()
    expect(shownToAll('/api/lsp/v1/recommended/get_order', text(OWN), lsps)).toMatch(/it shows the order/)
    expect(shownToAll('/api/lsp/v1/cheapest/get_order', text(OTHER), lsps)).toMatch(/it shows the order/)
    expect(shownToAll('/orders/x', text(OWN), lsps)).toMatch(/it shows the order/)
  })

  test('is for those kinds of callers whose credential opens it', () => {
    const allowed = (target: string) =>
      (['nobody', 'stranger', 'session', 'order', 'api', 'dashboard', 'seller', 'operator'] satisfies Caller[]).filter((caller) =>
        mayDo(target, caller),
      )
    expect(allowed('query market.offer.offers')).toEqual(['nobody', 'session', 'order', 'api', 'dashboard', 'seller'])
    expect(allowed('mutation liquidity.buy')).toEqual(['nobody', 'session', 'api', 'dashboard', 'seller'])
    expect(allowed(GET)).toEqual(['session', 'order', 'api', 'dashboard', 'seller'])
    expect(allowed('mutation market.offer.update')).toEqual(['api', 'dashboard', 'seller'])
    expect(allowed('mutation account.revoke_api_key')).toEqual(['dashboard', 'seller'])
    expect(allowed('POST /operator/sim/pay')).toEqual(['operator'])
    expect(allowed('POST /api/lsp/v1/cheapest/create_order')).toHaveLength(8)
  })
})

describe('what is an agent’s own word', () => {
  const secret = new Uint8Array(32).fill(7)
  const [pubkey, stranger] = [pubkeyOf(secret), new Uint8Array(32).fill(8)]
  const candidate = { sellerPubkey: pubkey, sellerAccountId: SELLER, sellerAmountMsat: '2000' } as Candidate // the rest is nothing to it
  const outpoint = `${'ab'.repeat(32)}:0`
  const said = (fact: object): string | undefined => {
    const speakerOf = openSpeakers()
    speakerOf({ orderId: OWN, fact: { type: 'OrderPlaced', v: 1, data: { candidate } } as OrderFact }) // what is looked at in it
    return speakerOf({ orderId: OWN, fact: { v: 1, ...fact } as OrderFact }) // as above
  }

  test('is what was said in its account', () => {
    const accepted = (by: string) => said({ type: 'SellerAccepted', data: { by, standing: false } })
    assert.equal(accepted(SELLER), pubkey)
    assert.equal(accepted(ME), undefined)
  })

  test('is an invoice that its node has signed for this very order', () => {
    const given = (by: Uint8Array, description = `order ${OWN}`, amountMsat = 2000n) => {
      const request = encodePaymentRequest(
        {
          network: 'regtest',
          paymentHash: 'cd'.repeat(32),
          paymentSecret: 'ef'.repeat(32),
          amountMsat,
          createdAt: 1_800_000_000_000,
          expirySeconds: 3600,
          cltvDelta: 18,
          description,
        },
        by,
      )
      return said({ type: 'PayoutInvoiceOffered', data: { attempt: 1, request, payee: pubkey } })
    }
    assert.equal(given(secret), pubkey)
    assert.equal(given(stranger), undefined)
    assert.equal(given(secret, `order ${OTHER}`), undefined)
    assert.equal(given(secret, `order ${OWN}`, 2001n), undefined)
  })

  test('is an outpoint that its node has signed for', () => {
    const channel = { outpoint, nodeKeys: [pubkey, NODE] as const, channelType: 'anchors' }
    const text = attestationText({ ...channel, capacitySat: 5n, pushSat: 0n, reserveSat: 1n })
    const named = (signature: string, more: object = {}) =>
      said({
        type: 'OutpointOffered',
        data: {
          attempt: 1,
          outpoint,
          attestation: { ...channel, capacitySat: '5', pushSat: '0', reserveSat: '1', signature, ...more },
        },
      })
    assert.equal(named(sign(secret, text)), pubkey)
    assert.equal(named(sign(stranger, text)), undefined)
    assert.equal(named(sign(secret, text), { capacitySat: '6' }), undefined)
    assert.equal(said({ type: 'OutpointOffered', data: { attempt: 1, outpoint, attestation: null } }), undefined)
    assert.equal(said({ type: 'ReleaseRequested', data: { by: SELLER } }), undefined)
  })
})
