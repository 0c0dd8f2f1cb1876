import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import type { CommandStep } from '@penstock/kernel/process.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { DAY_MS, SECOND_MS } from '@penstock/kernel/time.ts'
import { fulfilment } from '@penstock/order/fulfilment.ts'
import type { OrderCommand } from '@penstock/order/order.decide.ts'
import { order } from '@penstock/order/order.ts'
import type { Order } from '@penstock/order/state.ts'
import { attestationOf, buyerAccount, candidateOf, orderTermsOf, outpointOf, secretOf } from '@penstock/testkit/order-terms.ts'
import { mayFollow, type Told } from './told-by.ts'

type Wish = { readonly type: OrderCommand['type']; readonly data: object; readonly tells?: Told }
const wish = <Type extends OrderCommand['type']>(
  type: Type,
  data: Extract<OrderCommand, { readonly type: Type }>['data'],
  tells?: Told,
): Wish => ({ type, data, ...(tells && { tells }) })

const attempts = [1, 2, 3]
const outpoints = [1, 2].map(outpointOf)
const [outpoint = ''] = outpoints
const seller = (attempt: number): string => candidateOf(attempt).sellerAccountId
const signed = new Map(outpoints.map((one) => [one, attestationOf(one)]))
const name = (attempt: number, one: string) => wish('NameOutpoint', { by: seller(attempt), outpoint: one, attestation: null })
const attest = (one: string) => wish('NameOutpoint', { by: seller(1), outpoint: one, attestation: signed.get(one) ?? null })
const invoice = encodePaymentRequest(
  {
    network: 'regtest',
    paymentHash: '1'.repeat(64),
    amountMsat: BigInt(candidateOf(1).sellerAmountMsat),
    paymentSecret: '0'.repeat(64),
    createdAt: Date.UTC(2026, 0, 1),
    expirySeconds: (10 * DAY_MS) / SECOND_MS,
    cltvDelta: 40,
    description: 'payout',
  },
  secretOf(1),
)
const cancelled = (reason: 'released' | 'last-height' | 'expired' | 'node', verdict: 'wrong' | 'unconfirmed' | null = null) =>
  wish('RecordHoldCancelled', { reason, verdict, sentence: 'over' }, `HoldCancelled ${reason}`)
const matched = (attempt: number) => wish('RecordMatched', { attempt, candidate: candidateOf(attempt) }, `Matched ${attempt}`)
const reach = (look: number, reached: boolean) => wish('RecordBuyerReach', { look, reached, reason: 'silent', height: 100 })
const claim = (attempt: number, one: string, granted: boolean) => wish('RecordOutpointClaim', { attempt, outpoint: one, granted })
const note = (attempt: number, one: string, noted: boolean, attested = false) =>
  wish(
    'RecordOutpointNoted',
    { attempt, outpoint: one, noted, attested, reason: null, tooLate: false, naming: 0 },
    noted ? `OutpointNoted ${one}` : undefined,
  )
const settle = (one: string) =>
  wish('RecordSettling', { outpoint: one, confirmations: 3, lastHeight: false }, `SettleRequested ${one}`)

const issued = wish('RecordHoldIssued', { paymentHash: 'aa'.repeat(32), invoice: 'ln', expiresAt: 9 }, 'HoldIssued')
const held = wish('RecordHoldHeld', { expiryHeight: 250, heldAtHeight: 100, receivedMsat: '3000000' }, 'HoldHeld')
const settled = wish('RecordHoldSettled', { settledAt: 5 }, 'HoldSettled')

const ofChannel = (one: string): readonly Wish[] => [
  wish('RecordFundingSeen', { outpoint: one, naming: 0 }, 'FundingSeen'),
  wish('RecordFundingConfirmed', { outpoint: one, height: 120, channelId: '120x1x0', naming: 0 }, 'FundingConfirmed'),
  wish('RecordConfirmationsReached', { outpoint: one, confirmations: 3, naming: 0 }, 'ConfirmationsReached'),
  wish('RecordFundingReorged', { outpoint: one, naming: 0 }, 'FundingReorged'),
  wish('RecordFundingLost', { outpoint: one, failure: 'double-spent', reason: 'gone', naming: 0 }, 'FundingLost'),
  wish('RecordChannelWrong', { outpoint: one, reason: 'too small', blamed: true, naming: 0 }, 'ChannelWrong'),
  wish('RecordLeaseEnded', { outpoint: one, early: false, closedBy: null }, 'LeaseEnded'),
]

/** All that an order may hear: of the other services, of people, and of the time. */
const wishes: readonly Wish[] = [
  issued,
  held,
  settled,
  wish('RecordHoldRefused', { reason: 'no' }, 'HoldRefused'),
  wish('RecordHoldExpiring', { reason: 'too late' }, 'CancelRequested expired'),
  ...(['released', 'last-height', 'expired', 'node'] as const).map((reason) => cancelled(reason)),
  cancelled('last-height', 'wrong'),
  cancelled('last-height', 'unconfirmed'),
  ...attempts.flatMap((attempt) => [
    matched(attempt),
    wish('RecordUnmatched', { attempt, reason: 'nobody' }, `Unmatched ${attempt}`),
    ...[true, false].map((granted) => wish('RecordRereserved', { attempt, granted, reason: null }, `Rereserved ${attempt}`)),
    wish('RecordTold', { what: 'match-released', key: `${attempt}` }),
    wish('RecordTold', { what: 'match-used', key: `${attempt}` }),
    wish('Cancel', { by: seller(attempt), reason: 'I cannot' }),
    wish('Cancel', { by: seller(attempt), reason: 'UNABLE_TO_CONNECT_TO_NODE' }),
    wish('LapseOpening', { attempt, deadline: 21_600_000 }),
    ...outpoints.flatMap((one) => [
      name(attempt, one),
      claim(attempt, one, true),
      claim(attempt, one, false),
      note(attempt, one, true),
      note(attempt, one, true, true),
      note(attempt, one, false),
    ]),
  ]),
  ...[1, 2, 3, 4].flatMap((look) => [reach(look, true), reach(look, false)]),
  ...outpoints.flatMap((one) => [
    ...ofChannel(one),
    attest(one),
    settle(one),
    wish('RecordTold', { what: 'watch-started', key: one }),
    wish('RecordTold', { what: 'lease-started', key: one }),
    wish('RecordTold', { what: 'attestation-kept', key: one }),
    wish('RecordTold', { what: 'attestation-noted', key: one }),
  ]),
  wish('RecordTold', { what: 'watch-stopped', key: '1' }),
  wish('RecordTold', { what: 'hold-closed', key: '1' }),
  { type: 'Accept', data: { by: seller(1), request: invoice, network: 'regtest' } },
  wish('RecordPayoutInvoice', { paymentHash: '1'.repeat(64), taken: true, reason: null }),
  wish('Reject', { by: seller(1), record: null }),
  wish('Cancel', { by: buyerAccount, reason: 'no' }),
  wish('Withdraw', { reason: 'too slow' }),
  wish('CloseByOperator', { by: 'ops', reason: 'asked to', bearsLoss: true }),
  wish('LapseApproval', { deadline: 86_400_000 }),
]

const found = [issued, held, matched(1), reach(1, true)]
const named = [name(1, outpoint), claim(1, outpoint, true), note(1, outpoint, true)]
const givesUp = wish('Cancel', { by: seller(1), reason: 'I cannot' })
const rereserved = wish('RecordRereserved', { attempt: 1, granted: true, reason: null }, 'Rereserved 1')
const late = [name(1, outpoint), rereserved, ...named.slice(1)]
const paid = [settle(outpoint), settled]
/** Sales as they may go: a beginning of one makes the deep states likely. */
const sales: readonly (readonly Wish[])[] = [
  [...found, ...named, attest(outpoint), ...ofChannel(outpoint).slice(0, 3), ...paid],
  [...found, givesUp, ...late, ...ofChannel(outpoint).slice(0, 3), ...paid],
  [...found, givesUp, matched(2), reach(2, true), ...late, ...paid],
  [issued, wish('RecordHoldExpiring', { reason: 'too late' }, 'CancelRequested expired'), held, cancelled('expired')],
]

/** `manual`: it waits for its seller's word. Else `begun` steps of a sale are taken first. */
export type Beginning = { readonly manual: boolean; readonly sale: number; readonly begun: number }

export type Walk = {
  /** `<from> --<event>--> <to>` */
  readonly edges: ReadonlySet<string>
  /** What it asked of others, each question once, and what it was and had heard when it first did. */
  readonly asked: readonly { readonly step: CommandStep; readonly state: Order; readonly heard: readonly Told[] }[]
}

/**
 * Walks an order through what others may tell it in any order in which they can (told-by.ts), whatever it has asked.
 * @param tape picks what comes next; what says nothing new to the order is passed over
 */
export function walkOrder(tape: readonly number[], { manual, sale, begun }: Beginning): Walk {
  const edges = new Set<string>()
  const asked = new Map<string, Walk['asked'][number]>()
  const heard: Told[] = []
  let state: Order = order.initial

  const hear = ({ tells, ...told }: Wish): boolean => {
    // Settlement begins nothing by itself.
    const isBegun = [...asked.values()].some(({ step }) => step.category === 'settlement')
    if (tells && !((isBegun || !/^(Hold|Cancel)/.test(tells)) && mayFollow(heard, tells))) return false
    const facts = factsOf(state, told)
    if (tells && (facts.length > 0 || tells === 'HoldIssued' || tells === 'HoldHeld')) heard.push(tells)
    for (const fact of facts) {
      const after = order.evolve(state, fact)
      edges.add(`${state.status} --${fact.type}--> ${after.status}`)
      state = after
    }
    for (const step of fulfilment(state, 'order')) {
      const key = `${step.step} ${step.kind === 'command' ? step.attempt : ''}`
      if (step.kind === 'command' && !asked.has(key)) asked.set(key, { step, state, heard: [...heard] })
    }
    return facts.length > 0
  }

  hear(wish('PlaceOrder', orderTermsOf(manual)))
  if (!manual) for (const next of sales[sale % sales.length]?.slice(0, begun) ?? []) hear(next)
  for (const pick of tape)
    for (let tries = 0; tries < wishes.length; tries++) {
      const next = wishes[(pick + tries * 7) % wishes.length]
      if (next && hear(next)) break
    }
  return { edges, asked: [...asked.values()] }
}

function factsOf(state: Order, told: Omit<Wish, 'tells'>): readonly OrderFact[] {
  try {
    const decision = order.decide(state, { id: 'c', at: 0, ...told } as OrderCommand) // a wish is typed where it is made
    return 'facts' in decision ? decision.facts : []
  } catch (error) {
    // Nobody can tell it that.
    if (error instanceof Bug) return []
    throw error
  }
}
