import { mutantsOf } from '../mutant.ts'

const src = 'packages/adapters/src/lnd'

/** Faults of the adapter to lnd, each of which costs money. They are caught without an lnd. */
export const lnd = mutantsOf('settlement', [
  {
    id: 'sent-again-while-in-flight',
    wrong: 'A payment that is in flight is sent again instead of followed: a node that allows it pays the seller twice.',
    file: `${src}/payments.ts`,
    text: `  if (known?.state === 'in-flight') return follow(node, paymentHash, timeoutMs)\n`,
    instead: ``,
    killers: [`${src}/payments.test.ts`],
  },
  {
    id: 'rejected-payment-without-a-route',
    wrong: 'A payment that its destination rejects counts as one without a route: the payout is tried for ever.',
    file: `${src}/payments.ts`,
    text: `if (is_invalid_payment) return 'rejected-by-destination'`,
    instead: `if (is_invalid_payment) return 'no-route'`,
    killers: [`${src}/payments.test.ts`],
  },
  {
    id: 'payout-without-a-fee-limit',
    wrong: 'lnd is told no fee limit: a route may cost more than the platform earned.',
    file: `${src}/payments.ts`,
    text: `    max_fee_mtokens: \`\${maxFeeMsat}\`,\n`,
    instead: ``,
    killers: [`${src}/payments.test.ts`],
  },
  {
    id: 'cancelled-part-counts-as-held',
    wrong: 'HTLCs that were given back count as held: the guard takes its heights from money that is not there.',
    file: `${src}/invoices.ts`,
    text: `is_confirmed ? ('settled' as const) : ('cancelled' as const)`,
    instead: `is_confirmed ? ('settled' as const) : ('held' as const)`,
    killers: [`${src}/holds.test.ts`],
  },
  {
    id: 'cltv-delta-without-the-guard',
    wrong: 'The invoice asks for the blocks of the guard too few: the last height comes while the funding still confirms.',
    file: `${src}/holds.ts`,
    text: `cltv_delta: cltvDelta,`,
    instead: `cltv_delta: cltvDelta - 24,`,
    killers: [`${src}/holds.test.ts`],
  },
])
