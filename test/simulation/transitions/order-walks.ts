import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import type { CommandStep } from '@penstock/kernel/process.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { DAY_MS, SECOND_MS } from '@penstock/kernel/time.ts'
import { fulfilment } from '@penstock/order/fulfilment.ts'
import type { EnrichedOrderCommand } from '@penstock/order/order.decide.ts'
import { orderDecider } from '@penstock/order/order.ts'
import type { Order } from '@penstock/order/state.ts'
import {
  createAttestation,
  buyerAccountId,
  createCandidate,
  createOrderTerms,
  createOutpoint,
  secretKeyFor,
} from '@penstock/testkit/order-terms.ts'
import { mayFollow, type ReceivedFact } from './causality.ts'

type OrderMessage = { readonly type: EnrichedOrderCommand['type']; readonly data: object; readonly fact?: ReceivedFact }
/** The buyer of an order that needs no approval waits for its invoice until this time. */
const INVOICE_BEFORE = 1000
const createMessage = <Type extends EnrichedOrderCommand['type']>(
  type: Type,
  data: Extract<EnrichedOrderCommand, { readonly type: Type }>['data'],
  fact?: ReceivedFact,
): OrderMessage => ({ type, data, ...(fact && { fact }) })

const ATTEMPTS = [1, 2, 3]
const OUTPOINTS = [1, 2].map(createOutpoint)
const [OUTPOINT = ''] = OUTPOINTS
const sellerAccountOf = (attempt: number): string => createCandidate(attempt).sellerAccountId
const attestations = new Map(OUTPOINTS.map((outpoint) => [outpoint, createAttestation(outpoint)]))
const submitOutpoint = (attempt: number, outpoint: string) =>
  createMessage('SubmitOutpoint', { by: sellerAccountOf(attempt), outpoint, attestation: null })
const submitAttestedOutpoint = (outpoint: string) =>
  createMessage('SubmitOutpoint', { by: sellerAccountOf(1), outpoint, attestation: attestations.get(outpoint) ?? null })
const payoutInvoiceText = encodePaymentRequest(
  {
    network: 'regtest',
    paymentHash: '1'.repeat(64),
    amountMsat: BigInt(createCandidate(1).sellerAmountMsat),
    paymentSecret: '0'.repeat(64),
    createdAt: Date.UTC(2026, 0, 1),
    expirySeconds: (10 * DAY_MS) / SECOND_MS,
    cltvDelta: 40,
    description: 'payout',
  },
  secretKeyFor(1),
)
const holdCancelled = (reason: 'released' | 'last-height' | 'expired' | 'node', verdict: 'wrong' | 'unconfirmed' | null = null) =>
  createMessage('RecordHoldCancelled', { reason, verdict, sentence: 'over' }, `HoldCancelled ${reason}`)
const matchFound = (attempt: number) =>
  createMessage('RecordMatched', { attempt, candidate: createCandidate(attempt) }, `Matched ${attempt}`)
const buyerReach = (check: number, reached: boolean) =>
  createMessage('RecordBuyerReach', { check: check, reached, reason: 'silent', height: 100 })
const outpointClaim = (attempt: number, outpoint: string, granted: boolean) =>
  createMessage('RecordOutpointClaim', { attempt, outpoint, granted })
const outpointRegistered = (attempt: number, outpoint: string, registered: boolean, attested = false) =>
  createMessage(
    'RecordOutpointRegistered',
    { attempt, outpoint, registered, attested, reason: null, tooLate: false, outpointNumber: 0 },
    registered ? `OutpointRegistered ${outpoint}` : undefined,
  )
const settlingStarted = (outpoint: string) =>
  createMessage('RecordSettling', { outpoint, confirmations: 3, lastHeight: false }, `SettlementStarted ${outpoint}`)

const holdIssued = createMessage('RecordHoldIssued', { paymentHash: 'aa'.repeat(32), invoice: 'ln', expiresAt: 9 }, 'HoldIssued')
const holdHeld = createMessage('RecordHoldHeld', { expiryHeight: 250, heldAtHeight: 100, receivedMsat: '3000000' }, 'HoldHeld')
const holdSettled = createMessage('RecordHoldSettled', { settledAt: 5 }, 'HoldSettled')

const channelMessages = (outpoint: string): readonly OrderMessage[] => [
  createMessage('RecordFundingSeen', { outpoint, outpointNumber: 0 }, 'FundingSeen'),
  createMessage('RecordFundingConfirmed', { outpoint, height: 120, channelId: '120x1x0', outpointNumber: 0 }, 'FundingConfirmed'),
  createMessage('RecordConfirmationsReached', { outpoint, confirmations: 3, outpointNumber: 0 }, 'ConfirmationsReached'),
  createMessage('RecordFundingReorged', { outpoint, outpointNumber: 0 }, 'FundingReorged'),
  createMessage('RecordFundingLost', { outpoint, failure: 'double-spent', reason: 'gone', outpointNumber: 0 }, 'FundingLost'),
  createMessage('RecordChannelInvalid', { outpoint, reason: 'too small', blamed: true, outpointNumber: 0 }, 'ChannelInvalid'),
  createMessage('RecordLeaseEnded', { outpoint, early: false, closedBy: null }, 'LeaseEnded'),
]

/** All messages that an order may receive from other services, people and timers. */
const allMessages: readonly OrderMessage[] = [
  holdIssued,
  holdHeld,
  holdSettled,
  createMessage('RecordHoldRefused', { reason: 'no' }, 'HoldRefused'),
  createMessage('RecordHoldExpiring', { reason: 'too late' }, 'CancelRequested expired'),
  ...(['released', 'last-height', 'expired', 'node'] as const).map((reason) => holdCancelled(reason)),
  holdCancelled('last-height', 'wrong'),
  holdCancelled('last-height', 'unconfirmed'),
  ...ATTEMPTS.flatMap((attempt) => [
    matchFound(attempt),
    createMessage('RecordUnmatched', { attempt, reason: 'nobody' }, `Unmatched ${attempt}`),
    ...[true, false].map((granted) =>
      createMessage('RecordReservationRenewal', { attempt, granted, reason: null }, `ReservationRenewed ${attempt}`),
    ),
    createMessage('Cancel', { by: sellerAccountOf(attempt), reason: 'I cannot' }),
    createMessage('Cancel', { by: sellerAccountOf(attempt), reason: 'UNABLE_TO_CONNECT_TO_NODE' }),
    createMessage('LapseOpening', { attempt, deadline: 21_600_000 }),
    ...OUTPOINTS.flatMap((outpoint) => [
      submitOutpoint(attempt, outpoint),
      outpointClaim(attempt, outpoint, true),
      outpointClaim(attempt, outpoint, false),
      outpointRegistered(attempt, outpoint, true),
      outpointRegistered(attempt, outpoint, true, true),
      outpointRegistered(attempt, outpoint, false),
    ]),
  ]),
  ...[1, 2, 3, 4].flatMap((check) => [buyerReach(check, true), buyerReach(check, false)]),
  ...OUTPOINTS.flatMap((outpoint) => [...channelMessages(outpoint), submitAttestedOutpoint(outpoint), settlingStarted(outpoint)]),
  { type: 'Accept', data: { by: sellerAccountOf(1), request: payoutInvoiceText, network: 'regtest' } },
  createMessage('RecordPayoutInvoice', { paymentHash: '1'.repeat(64), accepted: true, reason: null }),
  createMessage('Reject', { by: sellerAccountOf(1), record: null }),
  createMessage('Cancel', { by: buyerAccountId, reason: 'no' }),
  createMessage('Withdraw', { reason: 'too slow' }),
  createMessage('CloseByOperator', { by: 'ops', reason: 'asked to', bearsLoss: true }),
  createMessage('LapseApproval', { deadline: 86_400_000 }),
  createMessage('LapseInvoice', { deadline: INVOICE_BEFORE + 10_000 }),
]

const beforeOpening = [holdIssued, holdHeld, matchFound(1), buyerReach(1, true)]
const outpointAccepted = [submitOutpoint(1, OUTPOINT), outpointClaim(1, OUTPOINT, true), outpointRegistered(1, OUTPOINT, true)]
const sellerCancels = createMessage('Cancel', { by: sellerAccountOf(1), reason: 'I cannot' })
const renewalGranted = createMessage(
  'RecordReservationRenewal',
  { attempt: 1, granted: true, reason: null },
  'ReservationRenewed 1',
)
const lateOutpoint = [submitOutpoint(1, OUTPOINT), renewalGranted, ...outpointAccepted.slice(1)]
const saleSettled = [settlingStarted(OUTPOINT), holdSettled]
/** Message sequences of sales. Walks start with a part of a sequence, so that they reach late statuses more often. */
const saleSequences: readonly (readonly OrderMessage[])[] = [
  [
    ...beforeOpening,
    ...outpointAccepted,
    submitAttestedOutpoint(OUTPOINT),
    ...channelMessages(OUTPOINT).slice(0, 3),
    ...saleSettled,
  ],
  [...beforeOpening, sellerCancels, ...lateOutpoint, ...channelMessages(OUTPOINT).slice(0, 3), ...saleSettled],
  [...beforeOpening, sellerCancels, matchFound(2), buyerReach(2, true), ...lateOutpoint, ...saleSettled],
  [
    holdIssued,
    createMessage('RecordHoldExpiring', { reason: 'too late' }, 'CancelRequested expired'),
    holdHeld,
    holdCancelled('expired'),
  ],
]

/** The start of a walk. `manual`: an order that needs its seller's approval. Otherwise the first `steps` messages of a sale. */
export type WalkStart = { readonly manual: boolean; readonly sale: number; readonly steps: number }

export type OrderWalk = {
  /** `<from> --<event>--> <to>` */
  readonly transitions: ReadonlySet<string>
  /** Each command that the order sends, with the state and the received facts when it first sends the command. */
  readonly requests: readonly { readonly step: CommandStep; readonly state: Order; readonly heard: readonly ReceivedFact[] }[]
}

/**
 * Sends messages to an order in any sequence that causality.ts allows, even if the order has not requested them.
 * @param choices indexes of the next messages; a message without effect is replaced by the next message that has an effect
 */
export function walkOrder(choices: readonly number[], { manual, sale, steps }: WalkStart): OrderWalk {
  const transitions = new Set<string>()
  const requests = new Map<string, OrderWalk['requests'][number]>()
  const heard: ReceivedFact[] = []
  let state: Order = orderDecider.initial

  const receive = ({ fact, ...message }: OrderMessage): boolean => {
    // Settlement sends facts about a hold only after the order has requested it.
    const hasRequestedHold = [...requests.values()].some(({ step }) => step.category === 'settlement')
    if (fact && !((hasRequestedHold || !/^(Hold|Cancel)/.test(fact)) && mayFollow(heard, fact))) return false
    const facts = decideFacts(state, message)
    if (fact && (facts.length > 0 || fact === 'HoldIssued' || fact === 'HoldHeld')) heard.push(fact)
    for (const decided of facts) {
      const after = orderDecider.evolve(state, decided)
      transitions.add(`${state.status} --${decided.type}--> ${after.status}`)
      state = after
    }
    for (const step of fulfilment(state, 'order')) {
      const key = `${step.step} ${step.kind === 'command' ? step.attempt : ''}`
      if (step.kind === 'command' && !requests.has(key)) requests.set(key, { step, state, heard: [...heard] })
    }
    return facts.length > 0
  }

  receive(createMessage('PlaceOrder', { ...createOrderTerms(manual), ...(!manual && { invoiceBefore: INVOICE_BEFORE }) }))
  if (!manual) for (const next of saleSequences[sale % saleSequences.length]?.slice(0, steps) ?? []) receive(next)
  for (const choice of choices)
    for (let tries = 0; tries < allMessages.length; tries++) {
      const next = allMessages[(choice + tries * 7) % allMessages.length]
      if (next && receive(next)) break
    }
  return { transitions, requests: [...requests.values()] }
}

function decideFacts(state: Order, message: Omit<OrderMessage, 'fact'>): readonly OrderFact[] {
  try {
    const decision = orderDecider.decide(state, { id: 'c', at: 0, ...message } as EnrichedOrderCommand) // By createMessage.
    return 'facts' in decision ? decision.facts : []
  } catch (error) {
    // No service can send this message in this state.
    if (error instanceof Bug) return []
    throw error
  }
}
