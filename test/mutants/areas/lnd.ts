import { createMutants } from '../mutant.ts'

const src = 'packages/adapters/src/lnd'

/** Faults of the lnd adapter that cost money. The tests that kill these mutants need no lnd. */
export const lndMutants = createMutants('settlement', [
  {
    id: 'sent-again-while-in-flight',
    description: 'A payment in flight is sent again instead of tracked: a node that allows this pays the seller twice.',
    file: `${src}/payments.ts`,
    text: `  if (known?.state === 'in-flight') return trackPayment(node, paymentHash, timeoutMs)\n`,
    replacement: '',
  },
  {
    id: 'rejected-payment-without-a-route',
    description: 'A payment that its destination rejects counts as one without a route: the payout is retried for ever.',
    file: `${src}/payments.ts`,
    text: `if (is_invalid_payment) return 'rejected-by-destination'`,
    replacement: `if (is_invalid_payment) return 'no-route'`,
  },
  {
    id: 'payout-without-a-fee-limit',
    description: 'lnd gets no fee limit: a route may cost more than the platform earned.',
    file: `${src}/payments.ts`,
    text: `    max_fee_mtokens: \`\${maxFeeMsat}\`,\n`,
    replacement: '',
  },
  {
    id: 'cancelled-part-counts-as-held',
    description: 'Cancelled HTLCs count as held: the guard computes its heights from money that is not held.',
    file: `${src}/invoices.ts`,
    text: `is_confirmed ? ('settled' as const) : ('cancelled' as const)`,
    replacement: `is_confirmed ? ('settled' as const) : ('held' as const)`,
    killers: [`${src}/holds.test.ts`],
  },
  {
    id: 'cltv-delta-without-the-guard',
    description:
      'The CLTV delta of the invoice lacks the blocks of the guard: the last height arrives before the funding confirms.',
    file: `${src}/holds.ts`,
    text: 'cltv_delta: cltvDelta,',
    replacement: 'cltv_delta: cltvDelta - 24,',
  },
])
