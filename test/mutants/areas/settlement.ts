import { mutantsOf } from '../mutant.ts'

const src = 'services/settlement/src'

export const settlement = mutantsOf('settlement', [
  {
    id: 'settles-at-any-height',
    wrong:
      'What was decided before an outage is settled after it, at whatever height: the payer may have the money back by then.',
    file: `${src}/effects/settle.ts`,
    text: `const outcome = isClaimable(hold, height)`,
    instead: `const outcome = height >= 0`,
    killers: [`${src}/effects/effects.test.ts`],
  },
  {
    id: 'settles-by-an-old-height',
    wrong: 'A node that lacks blocks tells the height by which a payment is taken: its end may have passed long ago.',
    file: `${src}/effects/settle.ts`,
    text: `if (network !== 'regtest' && !node.synced && !tip.synced)`,
    instead: `if (node.height < 0)`,
    killers: [`${src}/effects/effects.test.ts`],
  },
  {
    id: 'any-tip-age-any-tip',
    wrong: 'An operator that allows a tip of any age takes payments at a node that lacks blocks: their heights are unknown.',
    file: `${src}/hold.decide.ts`,
    text: `if (!synced || (staleTipSeconds > 0 && tipAgeSeconds > staleTipSeconds))`,
    instead: `if (staleTipSeconds > 0 && (!synced || tipAgeSeconds > staleTipSeconds))`,
    killers: [`${src}/hold.test.ts`],
  },
  {
    id: 'counts-unsettled-parts',
    wrong:
      'Parts of a payment that the node does not show as settled count as received: the platform owes a seller money that it never got.',
    file: `${src}/effects/settle.ts`,
    text: `(state === 'settled' ? sum + amountMsat : sum)`,
    instead: `(state === 'cancelled' ? sum : sum + amountMsat)`,
    killers: [`${src}/effects/effects.test.ts`],
  },
  {
    id: 'believes-the-settle-call',
    wrong: 'The answer of the call counts instead of what the node shows: a sale is booked whose money may never come.',
    file: `${src}/effects/settle.ts`,
    text: `if (invoice?.state === 'settled')`,
    instead: `if (invoice && (invoice.state === 'settled' || outcome === 'settled' || outcome === 'already-settled'))`,
    killers: [`${src}/effects/effects.test.ts`],
  },
  {
    id: 'cancelled-hold-told-as-settled',
    wrong:
      'A hold that the node has cancelled is told to the stream as settled: the buyer has its money back, and the seller is owed it.',
    file: `${src}/effects/settle.ts`,
    text: `if (invoice?.state === 'cancelled') return`,
    instead: `if (invoice?.state === 'cancelled')
    return { type: 'RecordSettled', data: { settledAt: clock.now(), receivedMsat: \`\${request.amountMsat}\` } }
  if (invoice?.state === 'cancelled') return`,
    killers: [`${src}/effects/effects.test.ts`],
  },
  {
    id: 'gives-a-foreign-preimage-away',
    wrong:
      'A preimage leaves without a look whether it opens this hold: with a mixed-up keyring another payment can be stolen on its way.',
    file: `${src}/effects/settle.ts`,
    text: `if (paymentHashOf(preimage) !== request.paymentHash)`,
    instead: `if (paymentHashOf(preimage) === '')`,
    killers: [`${src}/effects/effects.test.ts`],
  },
  {
    id: 'released-before-the-node-says-so',
    wrong:
      'A cancellation counts although the node still holds the payment: the buyer is told that it has its money back, and has not.',
    file: `${src}/effects/cancel.ts`,
    text: `if (!invoice || invoice.state === 'cancelled')`,
    instead: `if (!invoice || invoice.state !== 'settled')`,
    killers: [`${src}/effects/effects.test.ts`],
  },
  {
    id: 'payout-without-look-up',
    wrong: 'A payout is begun without a look whether it was paid already: after a crash the seller may be paid twice.',
    file: `${src}/effects/pay.ts`,
    text: `if (before?.state === 'succeeded') return told(attempt, before)`,
    instead: ``,
    killers: [`${src}/effects/pay.test.ts`],
  },
  {
    id: 'second-invoice-for-one-order',
    wrong:
      'The invoice is made without looking for the one of an earlier run: the buyer of a restarted market may find its order refused.',
    file: `${src}/effects/issue.ts`,
    text: `if (made) return issued(made.request)`,
    instead: `if (made && made.state === 'held') return issued(made.request)`,
    killers: [`${src}/effects/effects.test.ts`],
  },
  {
    id: 'payment-hash-for-two-orders',
    wrong: 'A payment hash may be claimed by a second order: one payment would close two debts, and a seller misses its money.',
    file: `${src}/payhash.ts`,
    text: `if (owner === null) return`,
    instead: `if (owner !== orderId) return`,
    killers: [`${src}/payout.test.ts`],
  },
  {
    id: 'second-payout-beside-the-first',
    wrong: 'A new invoice begins a payment while the one before is under way: both may arrive, and the platform pays twice.',
    file: `${src}/payout.decide.ts`,
    text: `    !payout.paying &&\n`,
    instead: ``,
    killers: [`${src}/payout.test.ts`],
  },
  {
    id: 'outcome-of-an-older-payout',
    wrong:
      'What became of an earlier try is taken for the present one: a payment that is under way is called failed and made again.',
    file: `${src}/payout.decide.ts`,
    text: `if (!paying || paying.attempt !== data.attempt) return accept()`,
    instead: `if (!paying) return accept()`,
    killers: [`${src}/payout.test.ts`],
  },
  {
    id: 'pays-out-what-is-withheld',
    wrong:
      'A payout that waits for the announcement is paid at once: a seller with a false probe has its money before anybody sees.',
    file: `${src}/payout.decide.ts`,
    text: `if (waits || confirmations < request.payoutConfirmations`,
    instead: `if (confirmations < request.payoutConfirmations`,
    killers: [`${src}/payout.test.ts`],
  },
  {
    id: 'way-dearer-than-the-fee',
    wrong: 'The larger of two limits bounds what a payout may cost on its way: the platform pays more than it earned.',
    file: `${src}/payout.decide.ts`,
    text: `limitMsat < feeMsat ? limitMsat : feeMsat`,
    instead: `limitMsat < feeMsat ? feeMsat : limitMsat`,
    killers: [`${src}/payout.test.ts`],
  },
  {
    id: 'ledger-without-routing-cost',
    wrong: 'The ledger lacks the leg of what a payout cost on its way: it balances, and says more money than the node has.',
    file: `${src}/ledger.ts`,
    text: `    ['routing-cost', feeMsat],
    ['paid-out', -(sellerAmountMsat + feeMsat)],`,
    instead: `    ['paid-out', -sellerAmountMsat],`,
    killers: [`${src}/ledger.test.ts`, `${src}/payout.test.ts`],
  },
  {
    id: 'overpayment-becomes-fee',
    wrong: 'What a buyer paid too much is booked as rounding: nobody can tell any more whose it is.',
    file: `${src}/ledger.ts`,
    text: `['overpayment', -overpaymentMsat]`,
    instead: `['rounding', -overpaymentMsat]`,
    killers: [`${src}/ledger.test.ts`],
  },
  {
    id: 'obeys-a-stale-expiry',
    wrong: 'The deadline of an invoice that was replaced still ends the hold: a buyer in good time is sent away.',
    file: `${src}/cancel.decide.ts`,
    text: `if (hold.status !== 'open' || hold.invoice?.expiresAt !== deadline) return accept()`,
    instead: `if (hold.status !== 'open') return accept()`,
    killers: [`${src}/cancel.test.ts`],
  },
  {
    id: 'late-payment-unseen',
    wrong:
      'A payment that arrives while its invoice is being ended is not written down: nobody gives it back before its time-out.',
    file: `${src}/hold.decide.ts`,
    text: `return hold.status === 'open' || late ? accept(heldFact(held)) : accept()`,
    instead: `return hold.status === 'open' ? accept(heldFact(held)) : accept()`,
    killers: [`${src}/hold.test.ts`],
  },
  {
    id: 'paid-after-the-look',
    wrong:
      'A process that stood still while it asked the node pays all the same: another has paid the seller to another invoice.',
    file: 'packages/adapters/src/lnd/payments.ts',
    text: `if (notAfter !== undefined) inTime(node.clock, notAfter)`,
    instead: ``,
    killers: ['packages/adapters/src/lnd/payments.test.ts'],
  },
  {
    id: 'look-before-the-invoice',
    wrong: 'A node that did not show the invoice yet counts as having cancelled it: it stays open, and can be paid for nothing.',
    file: `${src}/cancel.decide.ts`,
    text: `  if (unmade && hold.invoice) return accept()\n`,
    instead: ``,
    killers: [`${src}/cancel.test.ts`],
  },
  {
    id: 'older-invoice',
    wrong: 'An older invoice whose hash is claimed late takes the place of the newer one that the seller wants.',
    file: `${src}/payout.decide.ts`,
    text: `  if (isReplaced(state.payout, paymentHash)) return refused('It was replaced by a newer one.')\n`,
    instead: ``,
    killers: [`${src}/payout.test.ts`],
  },
])
