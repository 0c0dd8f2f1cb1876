import assert from 'node:assert/strict'
import type { OrderFact } from '@penstock/contracts/order.ts'
import type { Attestation } from '@penstock/contracts/shapes.ts'
import { given } from '@penstock/testkit/given.ts'
import { attestationOf, buyerAccount, candidateOf, orderTermsOf, outpointOf, stranger } from '@penstock/testkit/order-terms.ts'
import { test } from 'vitest'
import { fact } from './fact.ts'
import { order } from './order.ts'
import { notFound } from './refusal.ts'
import { asked, held, issued, named, offered, standing, started } from './samples.contract.ts'

const [one, two] = [outpointOf(1), outpointOf(2)]
const seller = candidateOf(1).sellerAccountId
const other = candidateOf(2).sellerAccountId
const manual: readonly OrderFact[] = [fact('OrderPlaced', { ...orderTermsOf(true), approveBefore: 1000 })]
const seen = [...named, fact('FundingSeen', { outpoint: one })]
const opened = [...seen, fact('ChannelOpened', { outpoint: one, confirmations: 3 })]
const settling = [...opened, fact('SettlingStarted', { outpoint: one, lastHeight: false })]
const valid = [...settling, fact('OrderValid', { settledAt: 1 })]
const closing = [...asked, fact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'asked to', blamed: false, by: 'ops' })]
const closed = [...closing, fact('AdminClosed', { by: 'ops', reason: 'asked to' })]
const replaced = [
  ...asked,
  fact('AttemptFailed', { attempt: 1, reason: 'late', blamed: true }),
  fact('AttemptStarted', { attempt: 2, candidate: candidateOf(2) }),
  fact('OpeningAsked', { attempt: 2, openBefore: 9000 }),
]

const name = (outpoint: string, by = seller, attested: string | null = null) =>
  ({ type: 'NameOutpoint', data: { by, outpoint, attestation: attested === null ? null : attestationOf(attested) } }) as const
const cancel = (by: string) => ({ type: 'Cancel', data: { by, reason: 'no' } }) as const
const record = { id: stranger, hash: 'ab'.repeat(32) }
const rejected = fact('SellerRejected', { reason: 'The seller rejected the order', record })
const reject = (by: string) => ({ type: 'Reject', data: { by, record } }) as const
const accept = (by: string) => ({ type: 'Accept', data: { by, request: 'ln', network: 'regtest' } }) as const
const withdraw = { type: 'Withdraw', data: { reason: 'too slow' } } as const
const operator = { type: 'CloseByOperator', data: { by: 'ops', reason: 'asked to' } } as const

test('an order that nobody placed is not found, and what others tell of it adds nothing', () => {
  for (const wish of [name(one), cancel(buyerAccount), reject(seller), accept(seller), withdraw, operator])
    given(order).when(wish).refuses('NOT_FOUND')
  given(order)
    .when({ type: 'RecordHoldRefused', data: { reason: 'late' } })
    .then()
  assert.equal(notFound().refused.message, 'Order not found')
})

test('an output index above 65535 is refused when it is named', () => {
  const [txid = ''] = one.split(':')
  given(order, ...asked)
    .when(name(`${txid}:65536`))
    .refuses('MALFORMED')
  given(order, ...asked)
    .when(name(`${txid}:65535`))
    .then(fact('OutpointOffered', { attempt: 1, outpoint: `${txid}:65535`, attestation: null }))
})

test("somebody else's order answers as an unknown one", () => {
  for (const history of [manual, issued, asked, named, valid, closed])
    for (const wish of [name(one, stranger), cancel(stranger), reject(stranger), accept(stranger)])
      given(order, ...history)
        .when(wish)
        .refuses('NOT_FOUND')
  // the buyer sells nothing, and a seller that was not asked is a stranger
  given(order, ...asked)
    .when(accept(buyerAccount))
    .refuses('NOT_FOUND')
  given(order, ...asked)
    .when(name(one, buyerAccount))
    .refuses('NOT_FOUND')
  given(order, ...asked)
    .when(name(one, other))
    .refuses('NOT_FOUND')
})

test('the buyer cancels before the payment is held, and not afterwards', () => {
  given(order, ...manual)
    .when(cancel(buyerAccount))
    .then(fact('BuyerRejected', { reason: 'no' }))
  given(order, ...issued)
    .when(cancel(buyerAccount))
    .then(fact('ReleaseRequested', { to: 'BUYER_REJECTED', reason: 'no', blamed: false, by: null }))
  for (const history of [held, asked, named, settling])
    given(order, ...history)
      .when(cancel(buyerAccount))
      .refuses('HELD')
  given(order, ...asked)
    .when(withdraw)
    .refuses('HELD')
  given(order, ...valid)
    .when(cancel(buyerAccount))
    .refuses('ENDED')
  given(order, ...closing)
    .when(cancel(buyerAccount))
    .refuses('CLOSING')
  given(order, ...manual, fact('BuyerRejected', { reason: 'no' }))
    .when(cancel(buyerAccount))
    .then()
})

test('a seller gives up its turn, once, and not after it has named', () => {
  given(order, ...asked)
    .when(cancel(seller))
    .then(fact('AttemptFailed', { attempt: 1, reason: 'no', blamed: true }))
  given(order, ...replaced)
    .when(cancel(seller))
    .then()
  given(order, ...offered)
    .when(cancel(seller))
    .refuses('BUSY')
  given(order, ...named)
    .when(cancel(seller))
    .refuses('NOT_NOW')
  given(order, ...issued)
    .when(cancel(seller))
    .refuses('NOT_NOW')
  given(order, ...closing)
    .when(cancel(seller))
    .refuses('CLOSING')
  given(order, ...valid)
    .when(cancel(seller))
    .refuses('ENDED')
})

test('a seller rejects before it has accepted', () => {
  given(order, ...manual)
    .when(reject(seller))
    .then(rejected)
  given(order, ...manual, rejected)
    .when(reject(seller))
    .then()
  given(order, ...standing)
    .when(reject(seller))
    .refuses('NOT_NOW')
  given(order, ...closing)
    .when(reject(seller))
    .refuses('CLOSING')
  given(order, ...closed)
    .when(reject(seller))
    .refuses('ENDED')
})

test('an operator closes whatever settlement does not take', () => {
  given(order, ...manual)
    .when(operator)
    .then(fact('AdminClosed', { by: 'ops', reason: 'asked to' }))
  for (const history of [named, opened])
    given(order, ...history)
      .when(operator)
      .refuses('BEARS_LOSS')
  const bears = { ...operator, data: { ...operator.data, bearsLoss: true as const } }
  for (const [history, command] of [
    ...[issued, held, asked].map((unnamed) => [unnamed, operator] as const),
    ...[named, opened].map((after) => [after, bears] as const),
  ])
    given(order, ...history)
      .when(command)
      .then(fact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'asked to', blamed: false, by: 'ops' }))
  given(order, ...settling)
    .when(operator)
    .refuses('SETTLING')
  given(order, ...valid)
    .when(operator)
    .refuses('ENDED')
  given(order, ...closing)
    .when(operator)
    .then()
  given(order, ...closed)
    .when(operator)
    .then()
  const withdrawn = [...issued, fact('ReleaseRequested', { to: 'BUYER_REJECTED', reason: 'no', blamed: false, by: null })]
  given(order, ...withdrawn)
    .when(operator)
    .refuses('CLOSING')
})

test('an outpoint is named by whose turn it is, and only in its time', () => {
  given(order, ...asked)
    .when(name(one))
    .then(fact('OutpointOffered', { attempt: 1, outpoint: one, attestation: null }))
  given(order, ...asked)
    .when(name(one.toUpperCase().replace('X', 'x')))
    .then(fact('OutpointOffered', { attempt: 1, outpoint: one, attestation: null }))
  for (const bad of ['nonsense', one.slice(0, -2), `${'zz'.repeat(32)}:0`, `${one}x`])
    given(order, ...asked)
      .when(name(bad))
      .refuses('MALFORMED')
  given(order, ...asked)
    .when(name(one, seller, two))
    .refuses('MALFORMED')
  given(order, ...issued)
    .when(name(one))
    .refuses('NOT_NOW')
  given(order, ...started)
    .when(name(one))
    .refuses('BUSY')
  given(order, ...offered)
    .when(name(two))
    .refuses('BUSY')
  given(order, ...seen)
    .when(name(two))
    .refuses('NOT_NOW')
  given(order, ...closing)
    .when(name(one))
    .refuses('CLOSING')
  given(order, ...closed)
    .when(name(one))
    .refuses('ENDED')
  given(order, ...offered, fact('OutpointRefused', { attempt: 1, outpoint: one, reason: 'it serves another order' }))
    .when(name(one))
    .refuses('OUTPOINT_REFUSED')
})

test('an outpoint that another order has, or that settlement does not note, is not named', () => {
  const claim = { type: 'RecordOutpointClaim', data: { attempt: 1, outpoint: one, granted: false } } as const
  given(order, ...offered)
    .when(claim)
    .then(fact('OutpointRefused', { attempt: 1, outpoint: one, reason: 'This outpoint serves another order' }))
  const note = {
    type: 'RecordOutpointNoted',
    data: { attempt: 1, outpoint: one, noted: false, attested: false, reason: 'not paid enough', tooLate: false, naming: 0 },
  } as const
  given(order, ...offered, fact('OutpointClaimed', { attempt: 1, outpoint: one }))
    .when(note)
    .then(fact('OutpointRefused', { attempt: 1, outpoint: one, reason: 'not paid enough' }))
})

test('the same outpoint again succeeds at any time, also after the end', () => {
  const ended = [
    ...named,
    fact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'x', blamed: false, by: 'ops' }),
    fact('AdminClosed', { by: 'ops', reason: 'x' }),
  ]
  for (const history of [offered, named, seen, opened, settling, valid, ended])
    given(order, ...history)
      .when(name(one))
      .then()
})

test('an attestation may follow once', () => {
  const given1 = fact('AttestationGiven', { attempt: 1, outpoint: one, attestation: attestationOf(one) })
  for (const history of [offered, named, seen, opened]) {
    given(order, ...history)
      .when(name(one, seller, one))
      .then(given1)
    given(order, ...history, given1)
      .when(name(one, seller, one))
      .then()
  }
  const another = {
    type: 'NameOutpoint',
    data: { by: seller, outpoint: one, attestation: attestationOf(one, 1, { reserveSat: '5' }) },
  } as const
  given(order, ...named, given1)
    .when(another)
    .refuses('OUTPOINT_REFUSED')
  given(order, ...valid)
    .when(name(one, seller, one))
    .then()
})

test("an attestation that is not the seller's own word is refused, and keeps nothing out", () => {
  const wrong: readonly (readonly [Attestation, RegExp])[] = [
    [{ ...attestationOf(one), signature: 'd'.repeat(104) }, /signature must be/],
    [attestationOf(one, 2, { nodeKeys: attestationOf(one).nodeKeys }), /signature must be/],
    [{ ...attestationOf(one), reserveSat: '1' }, /signature must be/],
    [attestationOf(one, 1, { capacitySat: '999999' }), /capacity must be at least 1000000/],
    [attestationOf(one, 1, { nodeKeys: attestationOf(one, 2).nodeKeys }), /node_keys must be/],
    [attestationOf(one, 1, { pushSat: '5' }), /push_sats must be 0/],
  ]
  for (const [attestation, sentence] of wrong)
    for (const history of [asked, replaced, offered, named, seen]) {
      const command = { type: 'NameOutpoint', data: { by: seller, outpoint: one, attestation } } as const
      given(order, ...history)
        .when(command)
        .refuses('ATTESTATION_REFUSED')
      const state = history.reduce(order.evolve, order.initial)
      const decision = order.decide(state, { id: 'c', at: 1, ...command })
      assert.match('refused' in decision ? decision.refused.message : '', sentence)
    }
  given(order, ...asked)
    .when(name(one, seller, one))
    .then(fact('OutpointOffered', { attempt: 1, outpoint: one, attestation: attestationOf(one) }))
})

test('a replaced seller still wins while its successor has named none', () => {
  given(order, ...replaced)
    .when(name(one))
    .then(fact('LateOutpointOffered', { attempt: 1, outpoint: one, attestation: null }))
  const successor = [...replaced, fact('OutpointOffered', { attempt: 2, outpoint: two, attestation: null })]
  given(order, ...successor)
    .when(name(one))
    .refuses('BUSY')
  given(
    order,
    ...successor,
    fact('OutpointClaimed', { attempt: 2, outpoint: two }),
    fact('OutpointNamed', { attempt: 2, outpoint: two }),
  )
    .when(name(one))
    .refuses('REPLACED')
})

test('fifty outpoints are enough', () => {
  const named50 = Array.from({ length: 50 }, (_, index) => {
    const outpoint = `${'a'.repeat(64)}:${index}`
    return [
      fact('OutpointOffered', { attempt: 1, outpoint, attestation: null }),
      fact('OutpointRefused', { attempt: 1, outpoint, reason: 'no' }),
    ]
  }).flat()
  given(order, ...asked, ...named50)
    .when(name(two))
    .refuses('TOO_MANY')
})
