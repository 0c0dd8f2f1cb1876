import type { HoldTerms, NotedOutpoint, SettlementFact } from '@penstock/contracts/settlement.ts'
import { type HoldStatus, statusAfter } from './lifecycle.ts'

type DataOf<Type extends SettlementFact['type']> = Extract<SettlementFact, { type: Type }>['data']

export type HoldRequest = Omit<HoldTerms, 'amountMsat' | 'platformFeeMsat' | 'leastPlatformFeeMsat'> & {
  readonly amountMsat: bigint
  readonly platformFeeMsat: bigint
  readonly leastPlatformFeeMsat: bigint
  readonly keyId: string
  readonly node: string
  readonly paymentHash: string
}

/** A hold invoice and what was learnt about it. What is null has not happened. */
export type Hold = {
  readonly status: HoldStatus
  readonly request: HoldRequest | null
  readonly invoice: { readonly request: string; readonly expiresAt: number } | null
  /** What the node was last known to have: something to cancel as long as it is 'open' or 'held'. */
  readonly atNode: 'nothing' | 'open' | 'held' | 'settled' | 'cancelled'
  readonly payment: {
    readonly expiryHeight: number
    readonly heldAtHeight: number
    readonly receivedMsat: bigint
    readonly peers: readonly (string | null)[]
  } | null
  readonly reach: { readonly asked: number; readonly pending: boolean }
  /** The last height at which our node tried to reach the buyer's before the decision, and whether it ever did. */
  readonly reachTries: { readonly height: number; readonly reached: boolean } | null
  readonly noted: NotedOutpoint | null
  /** The best peer proof that was seen of the noted outpoint while its payment was held. */
  readonly peerProof: DataOf<'PeerProven'> | null
  /** Namings that were answered with a no, by `namingOf`. */
  readonly refusedNamings: readonly string[]
  /** The outpoint that the order wants to be settled for, and how often it asked. */
  readonly settleAsked: { readonly outpoint: string; readonly times: number } | null
  readonly lastHeightReached: boolean
  readonly proof: DataOf<'SettleRequested'>['proof'] | null
  /** Why it goes back; while it is being settled: too few blocks were left for that. */
  readonly cancel: DataOf<'CancelRequested'> | null
  /** At which height it was seen that settling came too late. */
  readonly missedAtHeight: number | null
  readonly cancelRefused: boolean
  readonly cancelled: { readonly at: number; readonly times: number } | null
  readonly settledAt: number | null
}

export const noHold: Hold = {
  status: 'NONE',
  request: null,
  invoice: null,
  atNode: 'nothing',
  payment: null,
  reach: { asked: 0, pending: false },
  reachTries: null,
  noted: null,
  peerProof: null,
  refusedNamings: [],
  settleAsked: null,
  lastHeightReached: false,
  proof: null,
  cancel: null,
  missedAtHeight: null,
  cancelRefused: false,
  cancelled: null,
  settledAt: null,
}

/** One seller's wish for one outpoint. */
export const namingOf = ({ attempt, outpoint }: { readonly attempt: number; readonly outpoint: string }): string =>
  `${attempt} ${outpoint}`

/** @throws Bug for a fact that cannot follow */
export function evolveHold(hold: Hold, fact: SettlementFact): Hold {
  return { ...learn(hold, fact), status: statusAfter(hold.status, fact.type) }
}

const requestOf = (data: Extract<SettlementFact, { type: 'HoldRequested' }>['data']): HoldRequest => ({
  ...data,
  amountMsat: BigInt(data.amountMsat),
  platformFeeMsat: BigInt(data.platformFeeMsat),
  leastPlatformFeeMsat: BigInt(data.leastPlatformFeeMsat),
})

function learn(hold: Hold, { type, data }: SettlementFact): Hold {
  switch (type) {
    case 'HoldRequested':
      return { ...hold, request: requestOf(data) }
    case 'HoldRefused':
      // Should an invoice have been made all the same, it is cancelled for this.
      return { ...hold, cancel: { reason: 'released', verdict: null, sentence: data.reason } }
    case 'HoldIssued':
      return { ...hold, invoice: { request: data.invoice, expiresAt: data.expiresAt }, atNode: 'open' }
    case 'HoldHeld': {
      const { expiryHeight, heldAtHeight, receivedMsat, htlcs } = data
      const payment = { expiryHeight, heldAtHeight, receivedMsat: BigInt(receivedMsat), peers: htlcs.map(({ peer }) => peer) }
      return { ...hold, payment, atNode: 'held' }
    }
    case 'ReachAsked':
      return { ...hold, reach: { asked: data.attempt, pending: true } }
    case 'ReachChecked':
      return { ...hold, reach: { ...hold.reach, pending: false } }
    case 'BuyerReachTried': {
      const reached = data.reached || (hold.reachTries?.reached ?? false)
      return { ...hold, reachTries: { height: data.height, reached } }
    }
    case 'OutpointNoted': {
      // The window is the order's to keep.
      const { attempt, outpoint, terms, sellerAmountMsat, attestation, naming } = data
      const peerProof = hold.peerProof?.outpoint === outpoint ? hold.peerProof : null
      return { ...hold, peerProof, noted: { attempt, outpoint, terms, sellerAmountMsat, attestation, naming } }
    }
    case 'PeerProven':
      return { ...hold, peerProof: data }
    case 'OutpointNoteRefused':
      return { ...hold, refusedNamings: [...hold.refusedNamings, namingOf(data)] }
    case 'SettleAsked':
      return { ...hold, settleAsked: { outpoint: data.outpoint, times: (hold.settleAsked?.times ?? 0) + 1 } }
    case 'LastHeightReached':
      return { ...hold, lastHeightReached: true }
    case 'SettleRequested':
      return { ...hold, proof: data.proof }
    case 'SettleMissed':
      return {
        ...hold,
        cancel: { reason: 'last-height', verdict: null, sentence: data.sentence },
        missedAtHeight: data.height,
      }
    case 'HoldSettled':
      return { ...hold, settledAt: data.settledAt, atNode: 'settled' }
    case 'CancelRequested':
      return { ...hold, cancel: data }
    case 'CancelRefused':
      return { ...hold, cancelRefused: true }
    case 'HoldCancelled':
      return { ...hold, cancelled: { at: data.at, times: (hold.cancelled?.times ?? 0) + 1 }, atNode: 'cancelled' }
    default:
      return hold
  }
}
