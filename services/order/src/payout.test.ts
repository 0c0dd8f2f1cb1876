import assert from 'node:assert/strict'
import { encodePaymentRequest, type NewPaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { derivePubkey } from '@penstock/bitcoin/pubkey.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import { fold } from '@penstock/kernel/decider.ts'
import { HOUR_MS } from '@penstock/kernel/time.ts'
import { given } from '@penstock/testkit/given.ts'
import { createCandidate, createOrderTerms } from '@penstock/testkit/order-terms.ts'
import { test } from 'vitest'
import { orderFact } from './outcomes.ts'
import { fulfilment } from './fulfilment.ts'
import { orderDecider } from './order.ts'

const now = 1_700_000_000_000
const secretKey = new Uint8Array(32).fill(7)
const candidate = { ...createCandidate(1), sellerPubkey: derivePubkey(secretKey) }
const seller = candidate.sellerAccountId
const paymentHash = 'b'.repeat(64)
const placed = orderFact('OrderPlaced', { ...createOrderTerms(true), candidate, approveBefore: now + HOUR_MS })

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
const submittedFact = (request = invoice(), hash = paymentHash): OrderFact =>
  orderFact('PayoutInvoiceSubmittedRecorded', {
    attempt: 1,
    request,
    paymentHash: hash,
    payee: candidate.sellerPubkey,
    amountMsat: '2500000',
    expiresAt: now + 49 * HOUR_MS,
  })
const accepted = [placed, submittedFact(), orderFact('SellerAccepted', { by: seller, autoAccepted: false })]

test('a seller accepts an order with an invoice for its payout', () => {
  given(orderDecider, placed)
    .when(accept(invoice()), now)
    .then(submittedFact(), orderFact('SellerAccepted', { by: seller, autoAccepted: false }))
  given(orderDecider, ...accepted)
    .when(accept(invoice()), now)
    .then()
})

test('an invoice that cannot be paid, or that expires too early, is refused', () => {
  const bad = [
    'lnbcrt1nonsense',
    invoice({ network: 'testnet' }),
    invoice({ amountMsat: 2_500_001n }),
    invoice({ expirySeconds: 48 * 3600 }),
    invoice({}, new Uint8Array(32).fill(8)),
  ]
  for (const request of bad) given(orderDecider, placed).when(accept(request), now).refuses('INVOICE_REFUSED')
})

test('a newer invoice replaces an older invoice until the seller is paid', () => {
  const [hash, request] = ['d'.repeat(64), invoice({ paymentHash: 'd'.repeat(64) })]
  given(orderDecider, ...accepted)
    .when(accept(request), now)
    .then(submittedFact(request, hash))
  // Settlement answers once per payment hash, so an older invoice cannot be submitted again.
  given(orderDecider, ...accepted, submittedFact(request, hash))
    .when(accept(invoice()), now)
    .refuses('INVOICE_REFUSED')
})

test('a superseded invoice is sent to settlement again if its seller submits it in a later attempt', () => {
  const requestsAfter = (...history: readonly OrderFact[]) =>
    fulfilment(fold(orderDecider, history), 'o').flatMap((step) =>
      step.kind === 'command' && step.command.type === 'SubmitPayoutInvoice' ? [`${step.step}/${step.attempt}`] : [],
    )
  const step = `give-payout-${paymentHash}`
  assert.deepEqual(requestsAfter(...accepted), [`${step}/1`])
  const first = { ...createCandidate(2), sellerPubkey: '02'.padEnd(66, '2') }
  const turn = [
    ...accepted,
    orderFact('PayoutInvoiceAcceptedRecorded', { paymentHash }),
    orderFact('HoldIssuedRecorded', { paymentHash, invoice: 'ln', expiresAt: 9 }),
    orderFact('PaymentHeld', { expiryHeight: 250, heldAtHeight: 100, receivedMsat: '1', openBeforeHeight: 208 }),
    orderFact('AttemptStarted', { attempt: 1, candidate: first }),
    orderFact('AttemptFailed', { attempt: 1, reason: 'late', blamed: true }),
    orderFact('AttemptStarted', { attempt: 2, candidate }),
  ]
  assert.deepEqual(requestsAfter(...turn), [])
  const { decision } = given(orderDecider, ...turn).when(accept(invoice()), now)
  assert.ok('facts' in decision)
  assert.deepEqual(requestsAfter(...turn, ...decision.facts), [`${step}/2`])
  given(orderDecider, ...turn)
    .when(accept(invoice({ description: 'another invoice with the same hash' })), now)
    .refuses('INVOICE_REFUSED')
})

test('the answer of settlement about an invoice is recorded once', () => {
  const taken = orderFact('PayoutInvoiceAcceptedRecorded', { paymentHash })
  const refused = orderFact('PayoutInvoiceRefusedRecorded', { paymentHash, reason: 'seen before' })
  const answer = (ok: boolean) =>
    ({ type: 'RecordPayoutInvoice', data: { paymentHash, accepted: ok, reason: ok ? null : 'seen before' } }) as const
  given(orderDecider, ...accepted)
    .when(answer(true))
    .then(taken)
  given(orderDecider, ...accepted, taken)
    .when(answer(true))
    .then()
  given(orderDecider, ...accepted)
    .when(answer(false))
    .then(refused)
  given(orderDecider, ...accepted, refused)
    .when(accept(invoice()), now)
    .refuses('INVOICE_REFUSED')
})

test('an invoice is refused after the seller was paid or replaced, or after the order has ended', () => {
  const held: readonly OrderFact[] = [
    ...accepted,
    orderFact('HoldIssuedRecorded', { paymentHash, invoice: 'ln', expiresAt: 9 }),
    orderFact('PaymentHeld', { expiryHeight: 250, heldAtHeight: 100, receivedMsat: '1', openBeforeHeight: 208 }),
    orderFact('AttemptStarted', { attempt: 1, candidate }),
  ]
  const another = accept(invoice({ paymentHash: 'e'.repeat(64) }))
  given(orderDecider, ...held, orderFact('AttemptFailed', { attempt: 1, reason: 'x', blamed: true }))
    .when(another, now)
    .refuses('REPLACED')
  const closing = [...held, orderFact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'x', blamed: false, by: 'ops' })]
  given(orderDecider, ...closing)
    .when(another, now)
    .refuses('CLOSING')
  given(orderDecider, ...closing, orderFact('AdminClosed', { by: 'ops', reason: 'x' }))
    .when(another, now)
    .refuses('ENDED')
  const outpoint = `${'1'.repeat(64)}:0`
  const valid = [
    ...held,
    orderFact('ChannelOpenRequested', { attempt: 1, openBefore: 9 }),
    orderFact('OutpointAccepted', { attempt: 1, outpoint }),
    orderFact('ChannelOpened', { outpoint, confirmations: 3 }),
    orderFact('SettlingStarted', { outpoint, lastHeight: false }),
    orderFact('OrderValid', { settledAt: 1 }),
  ]
  given(orderDecider, ...valid)
    .when({ type: 'RecordPayout', data: { what: 'paid', detail: paymentHash } })
    .then(orderFact('PayoutStatusRecorded', { what: 'paid', detail: paymentHash }))
  given(orderDecider, ...valid, orderFact('PayoutStatusRecorded', { what: 'paid', detail: paymentHash }))
    .when(another, now)
    .refuses('PAID')
})

test('an order refuses another invoice after 50 invoices', () => {
  const many = Array.from({ length: 50 }, (_, index) => submittedFact(`ln${index}`, `${index}`.padStart(64, '0')))
  given(orderDecider, placed, ...many)
    .when(accept(invoice()), now)
    .refuses('TOO_MANY')
})
