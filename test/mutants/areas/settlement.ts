import { createMutants } from '../mutant.ts'

const src = 'services/settlement/src'

export const settlementMutants = createMutants('settlement', [
  {
    id: 'missing-proof-ends-by-height',
    description: 'A payout whose proof may be forged is paid at its end height without an operator: the buyer is robbed.',
    file: `${src}/payout/withholding.decide.ts`,
    text: `.filter((cause) => cause === 'promise' || (cause === 'spend-unconfirmed' && isBuried))`,
    replacement: `.filter((cause) => cause !== 'reorg' && (cause !== 'spend-unconfirmed' || isBuried))`,
  },
  {
    id: 'decided-before-the-end',
    description:
      'An operator may decide before a proof can arrive: a seller loses its share although its channel is announced later.',
    file: `${src}/payout/withholding.decide.ts`,
    text: 'if (due.length === 0) {',
    replacement: 'if (false && due.length === 0) {',
  },
  {
    id: 'decided-while-paying',
    description: 'An operator gives a share to the buyer while the payout to the seller is in progress: both get the share.',
    file: `${src}/payout/withholding.decide.ts`,
    text: `if (payout.paying) return refuse('PAYOUT_UNDER_WAY', 'The payout is under way; its outcome has to be known first.')`,
    replacement: 'void 0',
  },
  {
    id: 'payable-without-a-funding',
    description: 'The end height pays a seller whose funding is in no block: the buyer has paid for nothing.',
    file: `${src}/payout/withholding.decide.ts`,
    text: `if (isOfChain && confirmations === 0) return 'closed'`,
    replacement: 'void isOfChain',
  },
  {
    id: 'buyers-share-to-the-seller',
    description: 'A share that the market owes to the buyer is paid to the earlier invoice of the seller.',
    file: `${src}/payout/payout.ts`,
    text: `  creditor === 'buyer' ? BUYER : payee`,
    replacement: '  creditor === undefined ? BUYER : payee',
    killers: [`${src}/payout/withholding.test.ts`],
  },
  {
    id: 'twin-with-another-text-offered',
    description:
      'Another invoice with the payment hash of a superseded one is sent to settlement: it is refused, and the seller waits.',
    file: 'services/order/src/decide/payout.ts',
    text: `const isAgain = known?.state === 'superseded' && known.request === request`,
    replacement: `const isAgain = known?.state === 'superseded'`,
    killers: ['services/order/src/payout.test.ts'],
  },
  {
    id: 'malformed-fact-appended',
    description: 'A fact that violates its contract is appended: no process can read the stream any more.',
    file: 'packages/runtime/src/commands/handle-command.ts',
    text: 'if (!parsed.success) throw new Bug(`${type} is malformed: ${issuesOf(parsed.error)}`)',
    replacement: 'void parsed.success',
  },
  {
    id: 'peer-of-a-closing-channel-unknown',
    description: 'A closing channel gets the peer of any closing channel: payments are attributed to the wrong node.',
    file: 'packages/adapters/src/lnd/peer-finder.ts',
    text: 'closing.find(({ transaction_id }) => transaction_id === txid)',
    replacement: `closing.find(() => txid !== '')`,
  },
  {
    id: 'refused-twin-forgets-the-first',
    description:
      'The refusal of a second invoice makes settlement forget the first with the same hash: the seller is paid twice.',
    file: `${src}/payout/payout.ts`,
    text: `return invoice?.state === 'submitted'`,
    replacement: 'return invoice',
    killers: [`${src}/effects/send-payout.test.ts`],
  },
  {
    id: 'never-begun-and-replaced-is-tried-for-ever',
    description:
      'An invoice that our node refuses is retried for ever although the seller submitted another: the seller is not paid.',
    file: `${src}/effects/send-payout.ts`,
    text: 'before === undefined && newest && newest.paymentHash !== paymentHash',
    replacement: 'false',
  },
  {
    id: 'begun-and-called-never-begun',
    description: 'A payment that our node may have started is abandoned for a newer invoice: the seller is paid twice.',
    file: `${src}/effects/send-payout.ts`,
    text: 'before === undefined && newest',
    replacement: 'newest',
  },
  {
    id: 'refusal-is-a-failure-without-a-look',
    description:
      'A payment that lnd refuses counts as failed although lnd may have started it: two invoices of the seller are paid.',
    file: 'packages/adapters/src/lnd/payments.ts',
    text: 'const started = await findPayment(node, paymentHash)',
    replacement: 'const started = undefined',
  },
  {
    id: 'refusal-never-ends',
    description:
      'A payment that lnd refuses permanently is sent for ever: the payout has no outcome, and no other invoice is tried.',
    file: 'packages/adapters/src/lnd/payments.ts',
    text: `return started ?? { state: 'failed', reason: rejectionReasonOf(error.details) }`,
    replacement: `if (started) return started\n    throw error`,
  },
  {
    id: 'unpayable-invoice-taken',
    description:
      'An invoice without a payment secret is accepted, although no current node pays it: the payout is retried for ever.',
    file: 'packages/bitcoin/src/bolt11.ts',
    text: '  if (!hasPaymentSecret) return',
    replacement: '  if (hasPaymentSecret && routeHints < 0) return',
    killers: ['packages/bitcoin/src/unpayable.test.ts'],
  },
  {
    id: 'settles-at-any-height',
    description: 'A settlement that was decided before an outage happens at any height: the payer may have taken the money back.',
    file: `${src}/effects/settle-hold-invoice.ts`,
    text: 'const outcome = isClaimable(hold, height)',
    replacement: 'const outcome = height >= 0',
    killers: [`${src}/effects/effects.test.ts`],
  },
  {
    id: 'settles-by-an-old-height',
    description: 'A node that lacks blocks sets the height for a settlement: the payment may have expired long ago.',
    file: `${src}/effects/settle-hold-invoice.ts`,
    text: `if (network !== 'regtest' && !node.synced && !tip.synced)`,
    replacement: 'if (node.height < 0)',
    killers: [`${src}/effects/effects.test.ts`],
  },
  {
    id: 'any-tip-age-any-tip',
    description:
      'An operator that allows any age of the tip accepts payments at a node that lacks blocks: their heights are unknown.',
    file: `${src}/hold/hold.decide.ts`,
    text: 'if (!synced || (staleTipSeconds > 0 && tipAgeSeconds > staleTipSeconds))',
    replacement: 'if (staleTipSeconds > 0 && (!synced || tipAgeSeconds > staleTipSeconds))',
  },
  {
    id: 'counts-unsettled-parts',
    description:
      'Parts that the node does not show as settled count as received: the platform owes a seller money that it never got.',
    file: `${src}/effects/settle-hold-invoice.ts`,
    text: `(state === 'settled' ? sum + amountMsat : sum)`,
    replacement: `(state === 'cancelled' ? sum : sum + amountMsat)`,
    killers: [`${src}/effects/effects.test.ts`],
  },
  {
    id: 'believes-the-settle-call',
    description:
      'The reply to the settle call counts instead of the state of the invoice: a sale is booked whose money may never arrive.',
    file: `${src}/effects/settle-hold-invoice.ts`,
    text: `if (invoice?.state === 'settled')`,
    replacement: `if (invoice && (invoice.state === 'settled' || outcome === 'settled' || outcome === 'already-settled'))`,
    killers: [`${src}/effects/effects.test.ts`],
  },
  {
    id: 'cancelled-hold-told-as-settled',
    description:
      'A hold that the node cancelled is recorded as settled: the buyer has its money back, and the seller is owed it too.',
    file: `${src}/effects/settle-hold-invoice.ts`,
    text: `if (invoice?.state === 'cancelled') return`,
    replacement: `if (invoice?.state === 'cancelled')\n    return { type: 'RecordSettled', data: { settledAt: clock.now(), receivedMsat: \`\${request.amountMsat}\` } }\n  if (invoice?.state === 'cancelled') return`,
    killers: [`${src}/effects/effects.test.ts`],
  },
  {
    id: 'gives-a-foreign-preimage-away',
    description:
      'A preimage is sent without a check that it opens this hold: a thief can steal another payment if keyrings were mixed up.',
    file: `${src}/effects/settle-hold-invoice.ts`,
    text: 'if (paymentHashOf(preimage) !== request.paymentHash)',
    replacement: `if (paymentHashOf(preimage) === '')`,
    killers: [`${src}/effects/effects.test.ts`],
  },
  {
    id: 'released-before-the-node-says-so',
    description:
      'A cancellation is recorded while the node still holds the payment: the buyer reads that it has its money, and has not.',
    file: `${src}/effects/cancel-hold-invoice.ts`,
    text: `if (!invoice || invoice.state === 'cancelled')`,
    replacement: `if (!invoice || invoice.state !== 'settled')`,
    killers: [`${src}/effects/effects.test.ts`],
  },
  {
    id: 'payout-without-look-up',
    description: 'A payout is sent without checking whether it was paid already: after a crash the seller may be paid twice.',
    file: `${src}/effects/send-payout.ts`,
    text: `if (before?.state === 'succeeded') return toRecordPayout(attempt, before)`,
    replacement: '',
  },
  {
    id: 'second-invoice-for-one-order',
    description:
      'An invoice is created without looking up the one of an earlier run: after a restart a buyer may find its order refused.',
    file: `${src}/effects/issue-hold-invoice.ts`,
    text: 'if (existing) return toRecordIssued(existing.request)',
    replacement: `if (existing && existing.state === 'held') return toRecordIssued(existing.request)`,
    killers: [`${src}/effects/effects.test.ts`],
  },
  {
    id: 'payment-hash-for-two-orders',
    description: 'A second order may claim the same payment hash: one payment closes two debts, and a seller loses its money.',
    file: `${src}/payment-hash-claim.ts`,
    text: 'if (owner === null) return',
    replacement: 'if (owner !== orderId) return',
    killers: [`${src}/payout/payout.test.ts`],
  },
  {
    id: 'second-payout-beside-the-first',
    description:
      'A new invoice starts a payment while the previous one is in progress: both may succeed, and the platform pays twice.',
    file: `${src}/payout/payout.decide.ts`,
    text: ' || payout.paying !== null || ',
    replacement: ' || ',
  },
  {
    id: 'outcome-of-an-older-payout',
    description:
      'The outcome of an earlier try counts for the current one: a payment in progress counts as failed and is repeated.',
    file: `${src}/payout/payout.decide.ts`,
    text: 'if (!paying || paying.attempt !== data.attempt) return accept()',
    replacement: 'if (!paying) return accept()',
  },
  {
    id: 'pays-out-what-is-withheld',
    description:
      'A payout that waits for the announcement is paid at once: a seller with a forged probe has its money too early.',
    file: `${src}/payout/withholding.decide.ts`,
    text: 'if (after.released || Object.keys(after.withheld).length > 0 || confirmations < request.payoutConfirmations)',
    replacement: 'if (after.released || confirmations < request.payoutConfirmations)',
  },
  {
    id: 'way-dearer-than-the-fee',
    description: 'The larger of two limits bounds the routing fee of a payout: the platform pays more than it earned.',
    file: `${src}/payout/payout.decide.ts`,
    text: 'limitMsat < feeMsat ? limitMsat : feeMsat',
    replacement: 'limitMsat < feeMsat ? feeMsat : limitMsat',
  },
  {
    id: 'ledger-without-routing-cost',
    description: 'The ledger lacks the routing fee of a payout: it balances, and shows more money than the node has.',
    file: `${src}/payout/ledger.ts`,
    text: `amountMsat],\n    ['routing-cost', feeMsat],\n    ['paid-out', -(amountMsat + feeMsat)],\n  ])\n\n/** Posts a payment`,
    replacement: `amountMsat],\n    ['paid-out', -amountMsat],\n  ])\n\n/** Posts a payment`,
    killers: [`${src}/payout/ledger.test.ts`, `${src}/payout/payout.test.ts`],
  },
  {
    id: 'overpayment-becomes-fee',
    description: 'An overpayment is booked as rounding: the ledger no longer shows that it belongs to the buyer.',
    file: `${src}/payout/ledger.ts`,
    text: `['overpayment', -overpaymentMsat]`,
    replacement: `['rounding', -overpaymentMsat]`,
  },
  {
    id: 'obeys-a-stale-expiry',
    description: 'The deadline of a replaced invoice still ends the hold: a buyer who is in time is refused.',
    file: `${src}/hold/cancel.decide.ts`,
    text: `if (hold.status !== 'open' || hold.invoice?.expiresAt !== deadline) return accept()`,
    replacement: `if (hold.status !== 'open') return accept()`,
  },
  {
    id: 'late-payment-unseen',
    description: 'A payment that arrives while its invoice is being cancelled is not recorded: it returns only at its timeout.',
    file: `${src}/hold/hold.decide.ts`,
    text: `return hold.status === 'open' || isLate ? accept(toHoldHeld(held)) : accept()`,
    replacement: `return hold.status === 'open' ? accept(toHoldHeld(held)) : accept()`,
  },
  {
    id: 'paid-after-the-look',
    description:
      'A process that was paused after its look-up still pays: another process has already paid another invoice of the seller.',
    file: 'packages/adapters/src/lnd/payments.ts',
    text: 'if (notAfter !== undefined) assertBeforeDeadline(node.clock, notAfter)',
    replacement: '',
  },
  {
    id: 'look-before-the-invoice',
    description:
      'A node that does not show the invoice yet counts as having cancelled it: the invoice stays open, and can be paid.',
    file: `${src}/hold/cancel.decide.ts`,
    text: `  if (unmade && hold.invoice) return accept()\n`,
    replacement: '',
  },
  {
    id: 'older-invoice',
    description:
      'An older invoice whose payment hash is claimed late replaces the newer one: the seller is paid by the wrong invoice.',
    file: `${src}/payout/payout.decide.ts`,
    text: `  if (isReplaced(state.payout, paymentHash)) return refused('It was replaced by a newer one.')\n`,
    replacement: '',
  },
  {
    id: 'invoice-for-more-than-is-owed',
    description: 'An invoice for more than the owed amount is paid: a seller sets its own price.',
    file: `${src}/payout/payout.decide.ts`,
    text: 'return invoice?.amountMsat === `${owedMsat(balances)}` ? invoice : undefined',
    replacement: 'return BigInt(invoice?.amountMsat ?? 0) >= owedMsat(balances) ? invoice : undefined',
  },
  {
    id: 'refund-without-proof',
    description: 'A refund invoice needs no proof: a gateway that was taken over names its own.',
    file: `${src}/payout/payout.decide.ts`,
    text: `  data.isProven\n    ? submitInvoice`,
    replacement: `  data.isProven || data.proof !== undefined\n    ? submitInvoice`,
    killers: [`${src}/payout/withholding.test.ts`],
  },
  {
    id: 'refund-of-more-than-is-owed',
    description:
      'A buyer may submit a refund invoice for more than the owed amount: its claim stays open until an operator notices.',
    file: `${src}/payout/payout.decide.ts`,
    text: `if (creditor === 'buyer' && data.amountMsat !== \`\${owedMsat(balances)}\`)`,
    replacement: `if (creditor === 'buyer' && BigInt(data.amountMsat) < owedMsat(balances))`,
    killers: [`${src}/payout/withholding.test.ts`],
  },
  {
    id: 'node-changed-under-the-effect',
    description: 'The result of an effect counts although another node answers by then: its missing answer counts as an outcome.',
    file: `${src}/effects/node-binding.ts`,
    text: `    const command = await effect(state, context)\n    await assertBoundNode(context.ports, state.hold)\n`,
    replacement: `    const command = await effect(state, context)\n`,
  },
  {
    id: 'named-when-it-cannot-be-seen',
    description:
      'Another outpoint is accepted until the end of the window: an honest seller publishes, and its funding counts as late.',
    file: `${src}/hold/guard.decide.ts`,
    text: 'height >= window.namedBefore',
    replacement: 'height >= window.seenBefore',
    killers: [`${src}/hold/outpoint.test.ts`],
  },
  {
    id: 'sold-from-the-mempool-again',
    description: 'A funding that entered the mempool before the payment is accepted: a sold channel is sold again.',
    file: `${src}/hold/guard.decide.ts`,
    text: ' && enteredMempoolAt < heldAt)',
    replacement: ' && enteredMempoolAt < 0)',
    killers: [`${src}/hold/outpoint.test.ts`],
  },
  {
    id: 'index-beyond-short-channel-ids',
    description:
      'An output index that no short channel id can express is accepted: the channel cannot be proven, and the payment waits.',
    file: `${src}/hold/guard.decide.ts`,
    text: `  if (fault !== undefined) return refuseSubmission(\`\${fault}; do not publish it.\`)\n`,
    replacement: '',
    killers: [`${src}/hold/outpoint.test.ts`],
  },
  {
    id: 'decision-covers-what-comes-later',
    description: 'A decision about a missing proof also covers a later close: the seller closes the channel, and is paid for it.',
    file: `${src}/payout/payout.ts`,
    text: '{ ...payout, isDecidedForSeller: true }',
    replacement: '{ ...payout, isDecidedForSeller: true, settledCauses: CAUSES_COVERED_BY_LOSS }',
    killers: [`${src}/payout/withholding.test.ts`],
  },
  {
    id: 'decision-covers-what-has-not-ended',
    description:
      'A decision also lifts a close before its end height: the seller closes the channel, and is paid without a check.',
    file: `${src}/payout/withholding.decide.ts`,
    text: 'withheld[cause]) : due',
    replacement: 'withheld[cause]) : DECIDED_BY_OPERATOR.filter((cause) => payout.withheld[cause])',
  },
  {
    id: 'a-loss-covers-its-own-cause-alone',
    description: 'A confirmed loss lifts only its own cause: if the buyer closes the channel first, the seller waits for a week.',
    file: `${src}/payout/withholding.decide.ts`,
    text: 'loss ? CAUSES_COVERED_BY_LOSS.filter((cause) => payout.withheld[cause]) : due',
    replacement: 'loss ? due : due',
    killers: [`${src}/payout/loss.test.ts`],
  },
])
