import type { HoldTerms, RegisteredOutpoint, SettlementFact } from '@penstock/contracts/settlement.ts'
import { type HoldStatus, holdStatusAfter } from './lifecycle.ts'

type DataOf<Type extends SettlementFact['type']> = Extract<SettlementFact, { type: Type }>['data']

export type HoldRequest = Omit<HoldTerms, 'amountMsat' | 'platformFeeMsat' | 'leastPlatformFeeMsat'> & {
  readonly amountMsat: bigint
  readonly platformFeeMsat: bigint
  readonly leastPlatformFeeMsat: bigint
  readonly keyId: string
  readonly node: string
  readonly paymentHash: string
}

/** A hold invoice and its history. A field is null if its event has not happened. */
export type Hold = {
  readonly status: HoldStatus
  readonly request: HoldRequest | null
  readonly invoice: { readonly request: string; readonly expiresAt: number } | null
  /** Last known state of the invoice at the node, which can cancel it while it is 'open' or 'held'. */
  readonly atNode: 'nothing' | 'open' | 'held' | 'settled' | 'cancelled'
  readonly payment: {
    readonly expiryHeight: number
    readonly heldAtHeight: number
    readonly receivedMsat: bigint
    readonly peers: readonly (string | null)[]
  } | null
  readonly reach: { readonly asked: number; readonly pending: boolean }
  /** The last height at which our node tried to reach the buyer before the decision, and whether any attempt succeeded. */
  readonly reachTries: { readonly height: number; readonly reached: boolean } | null
  readonly registered: RegisteredOutpoint | null
  /** The best peer proof of the recorded outpoint that was found while the payment was held. */
  readonly peerProof: DataOf<'PeerProven'> | null
  /** Refused submissions, by `submissionKey`. */
  readonly refusedSubmissions: readonly string[]
  /** The outpoint for which the order requests the settlement, and the number of its requests. */
  readonly settlementWanted: { readonly outpoint: string; readonly times: number } | null
  readonly lastHeightReached: boolean
  readonly proof: DataOf<'SettlementStarted'>['proof'] | null
  /** The cause of the cancellation. In status 'settling', the cause is that too few blocks were left to settle. */
  readonly cancel: DataOf<'CancelRequested'> | null
  /** The height at which it was too late to settle. */
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
  registered: null,
  peerProof: null,
  refusedSubmissions: [],
  settlementWanted: null,
  lastHeightReached: false,
  proof: null,
  cancel: null,
  missedAtHeight: null,
  cancelRefused: false,
  cancelled: null,
  settledAt: null,
}

/** Key of the submission of one outpoint for one attempt. */
export const submissionKey = ({ attempt, outpoint }: { readonly attempt: number; readonly outpoint: string }): string =>
  `${attempt} ${outpoint}`

/** @throws Bug for a fact that the status does not allow */
export function evolveHold(hold: Hold, fact: SettlementFact): Hold {
  return { ...applyFact(hold, fact), status: holdStatusAfter(hold.status, fact.type) }
}

const toHoldRequest = (data: Extract<SettlementFact, { type: 'HoldRequested' }>['data']): HoldRequest => ({
  ...data,
  amountMsat: BigInt(data.amountMsat),
  platformFeeMsat: BigInt(data.platformFeeMsat),
  leastPlatformFeeMsat: BigInt(data.leastPlatformFeeMsat),
})

function applyFact(hold: Hold, { type, data }: SettlementFact): Hold {
  switch (type) {
    case 'HoldRequested':
      return { ...hold, request: toHoldRequest(data) }
    case 'HoldRefused':
      // If the node created an invoice nevertheless, it is cancelled with this reason.
      return { ...hold, cancel: { reason: 'released', verdict: null, sentence: data.reason } }
    case 'HoldIssued':
      return { ...hold, invoice: { request: data.invoice, expiresAt: data.expiresAt }, atNode: 'open' }
    case 'HoldHeld': {
      const { expiryHeight, heldAtHeight, receivedMsat, htlcs } = data
      const payment = { expiryHeight, heldAtHeight, receivedMsat: BigInt(receivedMsat), peers: htlcs.map(({ peer }) => peer) }
      return { ...hold, payment, atNode: 'held' }
    }
    case 'BuyerReachRequested':
      return { ...hold, reach: { asked: data.attempt, pending: true } }
    case 'BuyerReachChecked':
      return { ...hold, reach: { ...hold.reach, pending: false } }
    case 'BuyerReachTried': {
      const reached = data.reached || (hold.reachTries?.reached ?? false)
      return { ...hold, reachTries: { height: data.height, reached } }
    }
    case 'OutpointRegistered': {
      // The order's state contains the submission window, so this state omits it.
      const { attempt, outpoint, terms, sellerAmountMsat, attestation, outpointNumber } = data
      const peerProof = hold.peerProof?.outpoint === outpoint ? hold.peerProof : null
      return { ...hold, peerProof, registered: { attempt, outpoint, terms, sellerAmountMsat, attestation, outpointNumber } }
    }
    case 'PeerProven':
      return { ...hold, peerProof: data }
    case 'OutpointRegistrationRefused':
      return { ...hold, refusedSubmissions: [...hold.refusedSubmissions, submissionKey(data)] }
    case 'SettlementWanted':
      return { ...hold, settlementWanted: { outpoint: data.outpoint, times: (hold.settlementWanted?.times ?? 0) + 1 } }
    case 'LastHeightReached':
      return { ...hold, lastHeightReached: true }
    case 'SettlementStarted':
      return { ...hold, proof: data.proof }
    case 'SettlementMissed':
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
