import { formatChannelAttestation } from '@penstock/bitcoin/attestation.ts'
import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { signMessage } from '@penstock/bitcoin/message-signature.ts'
import { derivePubkey } from '@penstock/bitcoin/pubkey.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import type { Candidate } from '@penstock/contracts/shapes.ts'
import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import { createFactAttribution } from './attribution.ts'
import type { OwnedObject, Owners } from './owners.ts'
import type { FuzzCaller } from '../request.ts'
import { type CallerIdentity, mayUseTarget, checkForeignData, checkPublicData } from './authorization.ts'

const id = (letter: string): string => `01a1f000-0000-7000-8000-${letter.repeat(12)}`
const [OWN, OTHER, KEY, OFFER, ACCOUNT] = ['a', 'b', 'c', 'd', 'e'].map(id) as [string, string, string, string, string]
const [ME, SELLER] = [id('1'), id('2')]
const NODE = `02${'ab'.repeat(32)}`

const createOrder = (buyer: string, source = 'buy', at = 1000): OwnedObject => ({
  kind: 'order',
  at,
  buyer,
  sellers: new Set([SELLER]),
  source,
})
const owners: Owners = {
  ownedObjects: new Map<string, OwnedObject>([
    [OWN, createOrder(ME)],
    [OTHER, createOrder(ACCOUNT)],
    [KEY, { kind: 'API key', owner: ACCOUNT }],
    [OFFER, { kind: 'offer', owner: SELLER, pubkey: NODE }],
    [ACCOUNT, { kind: 'account', at: 1000 }],
  ]),
  nodes: new Map([[NODE, SELLER]]),
  catchUp: () => Promise.resolve(),
  close: () => Promise.resolve(),
}
const GET = 'query user.market.orders.get_order'
const checkShown = (data: unknown, identity: CallerIdentity | null = { account: ME }, target = GET, requestedAt = 2000) =>
  checkForeignData(data, { target, identity: identity ?? undefined, requestedAt }, owners)

describe('an answer shows', () => {
  test('an order only to its buyer and its sellers', () => {
    expect(checkShown({ id: OWN })).toBeUndefined()
    expect(checkShown({ id: OWN }, { account: SELLER })).toBeUndefined()
    expect(checkShown({ list: [{ id: OWN }, { id: `${OTHER}/seller` }] })).toMatch(/shows the order .*b{12} to another caller/)
    expect(checkShown({ id: OWN }, { account: SELLER }, 'mutation market.order.seller.accept')).toBeUndefined()
    expect(checkShown({ id: OWN }, { account: ME }, 'mutation market.order.seller.accept')).toMatch(/shows the order/)
  })

  test('to the key of an order, only this order', () => {
    const identity = { account: ACCOUNT, onlyOrder: OTHER }
    expect(checkShown({ id: OTHER }, identity)).toBeUndefined()
    for (const data of [OWN, KEY, ACCOUNT]) expect(checkShown({ id: data }, identity)).toMatch(/to another caller/)
  })

  test('an order only in the role of the caller, buyer or seller', () => {
    expect(checkShown({ id: OWN, is_seller: false })).toBeUndefined()
    expect(checkShown({ id: OWN, is_seller: true })).toMatch(/as its seller, to another caller/)
    expect(checkShown([{ id: OWN, is_seller: false }], { account: SELLER })).toMatch(/as its buyer, to another caller/)
    expect(checkShown({ id: id('f'), is_seller: false })).toMatch(/an order .*f{12} that was never placed/)
  })

  test('to a caller without a credential, only objects that its own request created', () => {
    expect(checkShown({ id: OTHER }, null, 'mutation liquidity.buy', 1000)).toBeUndefined()
    expect(checkShown({ id: OTHER }, null, 'mutation liquidity.buy', 1001)).toMatch(/the order/)
    expect(checkShown({ account: { id: ACCOUNT } }, null, 'mutation liquidity.buy', 1001)).toMatch(/the account/)
    expect(checkShown({ id: ACCOUNT }, null, 'mutation account.login', 1001)).toBeUndefined()
  })

  test('offers, API keys, accounts and nodes only to their owners, except in the order book', () => {
    const update = 'mutation market.offer.update'
    expect(checkShown({ list: [{ id: OFFER }] }, null, 'query market.offer.offers')).toBeUndefined()
    expect(checkShown({ id: OFFER }, { account: SELLER }, update)).toBeUndefined()
    expect(checkShown({ id: OFFER }, { account: ME }, update)).toMatch(/the offer/)
    expect(
      checkForeignData(
        { id: OFFER },
        { target: update, identity: { account: SELLER }, requestedAt: 0 },
        { ...owners, nodes: new Map() },
      ),
    ).toMatch(/the offer/)
    expect(checkShown({ id: KEY }, { account: ACCOUNT }, 'query account.api_keys')).toBeUndefined()
    expect(checkShown({ id: KEY }, { account: ME }, 'mutation account.revoke_api_key')).toMatch(/the API key/)
    expect(checkShown({ id: ACCOUNT }, { account: ME }, 'query account.me')).toMatch(/the account/)
    expect(checkShown({ nodes: [{ pubkey: NODE }] }, { account: SELLER }, 'query account.me')).toBeUndefined()
    expect(checkShown({ nodes: [{ pubkey: NODE }] }, { account: ME }, 'query account.me')).toMatch(/the node/)
  })

  test('to callers of LSPS1, LSPS1 orders and no other objects', () => {
    const lsps: Owners = {
      ...owners,
      ownedObjects: new Map([
        [OWN, createOrder(ME, 'lsps1-cheapest')],
        [OTHER, createOrder(ME)],
      ]),
    }
    const text = (order_id: string) => JSON.stringify({ order_id })
    expect(checkPublicData('/API/lsp/v1/cheapest/get_order?x', text(OWN), lsps)).toBeUndefined()
    expect(checkPublicData('/api/lsp/v1/recommended/get_order', text(OWN), lsps)).toMatch(/it shows the order/)
    expect(checkPublicData('//api//lsp//v1//cheapest//get_order', text(OWN), lsps)).toBeUndefined()
    expect(checkPublicData('/api/lsp/v1/cheapest/get_order', text(OTHER), lsps)).toMatch(/it shows the order/)
    expect(checkPublicData('/orders/x', text(OWN), lsps)).toMatch(/it shows the order/)
  })

  test('results only to the kinds of callers whose credential allows the operation', () => {
    const allowed = (target: string) =>
      (['nobody', 'stranger', 'session', 'order', 'api', 'dashboard', 'seller', 'operator'] satisfies FuzzCaller[]).filter(
        (caller) => mayUseTarget(target, caller),
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

describe('a fact is attributed to an agent', () => {
  const secret = new Uint8Array(32).fill(7)
  const [pubkey, stranger] = [derivePubkey(secret), new Uint8Array(32).fill(8)]
  const candidate = { sellerPubkey: pubkey, sellerAccountId: SELLER, sellerAmountMsat: '2000' } as Candidate // the fields that are read
  const outpoint = `${'ab'.repeat(32)}:0`
  const attribute = (fact: object): string | undefined => {
    const attributeFact = createFactAttribution()
    attributeFact({ orderId: OWN, fact: { type: 'OrderPlaced', v: 1, data: { candidate } } as OrderFact }) // only this field is read
    return attributeFact({ orderId: OWN, fact: { v: 1, ...fact } as OrderFact }) // as above
  }

  test('if its account caused the fact', () => {
    const accepted = (by: string) => attribute({ type: 'SellerAccepted', data: { by, autoAccepted: false } })
    assert.equal(accepted(SELLER), pubkey)
    assert.equal(accepted(ME), undefined)
  })

  test('if its node signed the invoice for exactly this order', () => {
    const offersInvoice = (by: Uint8Array, description = `order ${OWN}`, amountMsat = 2000n) => {
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
      return attribute({ type: 'PayoutInvoiceSubmittedRecorded', data: { attempt: 1, request, payee: pubkey } })
    }
    assert.equal(offersInvoice(secret), pubkey)
    assert.equal(offersInvoice(stranger), undefined)
    assert.equal(offersInvoice(secret, `order ${OTHER}`), undefined)
    assert.equal(offersInvoice(secret, `order ${OWN}`, 2001n), undefined)
  })

  test('if its node signed the attestation of the outpoint', () => {
    const channel = { outpoint, nodeKeys: [pubkey, NODE] as const, channelType: 'anchors' }
    const text = formatChannelAttestation({ ...channel, capacitySat: 5n, pushSat: 0n, reserveSat: 1n })
    const submitsOutpoint = (signature: string, extraFields: object = {}) =>
      attribute({
        type: 'OutpointSubmitted',
        data: {
          attempt: 1,
          outpoint,
          attestation: { ...channel, capacitySat: '5', pushSat: '0', reserveSat: '1', signature, ...extraFields },
        },
      })
    assert.equal(submitsOutpoint(signMessage(secret, text)), pubkey)
    assert.equal(submitsOutpoint(signMessage(stranger, text)), undefined)
    assert.equal(submitsOutpoint(signMessage(secret, text), { capacitySat: '6' }), undefined)
    assert.equal(attribute({ type: 'OutpointSubmitted', data: { attempt: 1, outpoint, attestation: null } }), undefined)
    assert.equal(attribute({ type: 'ReleaseRequested', data: { by: SELLER } }), undefined)
  })
})
