import assert from 'node:assert/strict'
import { encodePaymentRequest, type NewPaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { pubkeyOf } from '@penstock/bitcoin/pubkey.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import { fold } from '@penstock/kernel/decider.ts'
import { HOUR_MS } from '@penstock/kernel/time.ts'
import { given } from '@penstock/testkit/given.ts'
import { candidateOf, orderTermsOf } from '@penstock/testkit/order-terms.ts'
import { test } from 'vitest'
import { fact } from './fact.ts'
import { fulfilment } from './fulfilment.ts'
import { order } from './order.ts'

const now = 1_700_000_000_000
const secretKey = new Uint8Array(32).fill(7)
const candidate = { ...candidateOf(1), sellerPubkey: pubkeyOf(secretKey) }
const seller = candidate.sellerAccountId
const paymentHash = 'b'.repeat(64)
const placed = fact('OrderPlaced', { ...orderTermsOf(true), candidate, approveBefore: now + HOUR_MS })

const invoice = (change: Partial<NewPaymentRequest> = {}, key = secretKey) =>
  encodePaymentRequest(
    {
      network: 'regtest',
      paymentHash,
      amountMsat: 2_500_000n,
      paymentSecret: 'c'.repeat(64),
      createdAt: now,
      expirySeconds: 49 * 3600,
      cltvDelta: 40,
      description: 'payout',
      ...change,
    },
    key,
  )
const accept = (request: string) => ({ type: 'Accept', data: { by: seller, request, network: 'regtest' } }) as const
const offer = (request = invoice(), hash = paymentHash): OrderFact =>
  fact('PayoutInvoiceOffered', {
    attempt: 1,
    request,
    paymentHash: hash,
    payee: candidate.sellerPubkey,
    amountMsat: '2500000',
    expiresAt: now + 49 * HOUR_MS,
  })
const accepted = [placed, offer(), fact('SellerAccepted', { by: seller, standing: false })]

test('acceptance comes with an invoice for the payout', () => {
  given(order, placed)
    .when(accept(invoice()), now)
    .then(offer(), fact('SellerAccepted', { by: seller, standing: false }))
  given(order, ...accepted)
    .when(accept(invoice()), now)
    .then()
})

test('an invoice that cannot be paid, or not late enough, is refused with the reason', () => {
  const bad = [
    'lnbcrt1nonsense',
    invoice({ network: 'testnet' }),
    invoice({ amountMsat: 2_500_001n }),
    invoice({ expirySeconds: 48 * 3600 }),
    invoice({}, new Uint8Array(32).fill(8)),
  ]
  for (const request of bad) given(order, placed).when(accept(request), now).refuses('INVOICE_REFUSED')
})

test('a newer invoice takes the place of an older one until the seller is paid', () => {
  const [hash, request] = ['d'.repeat(64), invoice({ paymentHash: 'd'.repeat(64) })]
  given(order, ...accepted)
    .when(accept(request), now)
    .then(offer(request, hash))
  // settlement answers for a hash once, so an older invoice does not come back
  given(order, ...accepted, offer(request, hash))
    .when(accept(invoice()), now)
    .refuses('INVOICE_REFUSED')
})

test('what was forgotten, since another seller had the turn, is asked about anew when it is given again', () => {
  const asks = (...history: readonly OrderFact[]) =>
    fulfilment(fold(order, history), 'o').flatMap((step) =>
      step.kind === 'command' && step.command.type === 'GivePayoutInvoice' ? [`${step.step}/${step.attempt}`] : [],
    )
  const step = `give-payout-${paymentHash}`
  assert.deepEqual(asks(...accepted), [`${step}/1`])
  const first = { ...candidateOf(2), sellerPubkey: '02'.padEnd(66, '2') }
  const turn = [
    ...accepted,
    fact('PayoutInvoiceTaken', { paymentHash }),
    fact('HoldIssued', { paymentHash, invoice: 'ln', expiresAt: 9 }),
    fact('PaymentHeld', { expiryHeight: 250, heldAtHeight: 100, receivedMsat: '1', openBeforeHeight: 208 }),
    fact('AttemptStarted', { attempt: 1, candidate: first }),
    fact('AttemptFailed', { attempt: 1, reason: 'late', blamed: true }),
    fact('AttemptStarted', { attempt: 2, candidate }),
  ]
  assert.deepEqual(asks(...turn), [])
  const { decision } = given(order, ...turn).when(accept(invoice()), now)
  assert.ok('facts' in decision)
  assert.deepEqual(asks(...turn, ...decision.facts), [`${step}/2`])
  given(order, ...turn)
    .when(accept(invoice({ description: 'another invoice with the same hash' })), now)
    .refuses('INVOICE_REFUSED')
})

test('what settlement says of an invoice is taken down once', () => {
  const taken = fact('PayoutInvoiceTaken', { paymentHash })
  const refused = fact('PayoutInvoiceRefused', { paymentHash, reason: 'seen before' })
  const say = (ok: boolean) =>
    ({ type: 'RecordPayoutInvoice', data: { paymentHash, taken: ok, reason: ok ? null : 'seen before' } }) as const
  given(order, ...accepted)
    .when(say(true))
    .then(taken)
  given(order, ...accepted, taken)
    .when(say(true))
    .then()
  given(order, ...accepted)
    .when(say(false))
    .then(refused)
  given(order, ...accepted, refused)
    .when(accept(invoice()), now)
    .refuses('INVOICE_REFUSED')
})

test('nothing is given once the seller was paid, has been replaced, or the order is over', () => {
  const held: readonly OrderFact[] = [
    ...accepted,
    fact('HoldIssued', { paymentHash, invoice: 'ln', expiresAt: 9 }),
    fact('PaymentHeld', { expiryHeight: 250, heldAtHeight: 100, receivedMsat: '1', openBeforeHeight: 208 }),
    fact('AttemptStarted', { attempt: 1, candidate }),
  ]
  const another = accept(invoice({ paymentHash: 'e'.repeat(64) }))
  given(order, ...held, fact('AttemptFailed', { attempt: 1, reason: 'x', blamed: true }))
    .when(another, now)
    .refuses('REPLACED')
  const closing = [...held, fact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'x', blamed: false, by: 'ops' })]
  given(order, ...closing)
    .when(another, now)
    .refuses('CLOSING')
  given(order, ...closing, fact('AdminClosed', { by: 'ops', reason: 'x' }))
    .when(another, now)
    .refuses('ENDED')
  const outpoint = `${'1'.repeat(64)}:0`
  const valid = [
    ...held,
    fact('OpeningAsked', { attempt: 1, openBefore: 9 }),
    fact('OutpointNamed', { attempt: 1, outpoint }),
    fact('ChannelOpened', { outpoint, confirmations: 3 }),
    fact('SettlingStarted', { outpoint, lastHeight: false }),
    fact('OrderValid', { settledAt: 1 }),
  ]
  given(order, ...valid)
    .when({ type: 'RecordPayout', data: { what: 'paid', detail: paymentHash } })
    .then(fact('PayoutNoted', { what: 'paid', detail: paymentHash }))
  given(order, ...valid, fact('PayoutNoted', { what: 'paid', detail: paymentHash }))
    .when(another, now)
    .refuses('PAID')
})

test('so many invoices are enough', () => {
  const many = Array.from({ length: 50 }, (_, index) => offer(`ln${index}`, `${index}`.padStart(64, '0')))
  given(order, placed, ...many)
    .when(accept(invoice()), now)
    .refuses('TOO_MANY')
})
