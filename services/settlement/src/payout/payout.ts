import type { Creditor, SettlementFact, WithholdingCause } from '@penstock/contracts/settlement.ts'

type DataOf<Type extends SettlementFact['type']> = Extract<SettlementFact, { type: Type }>['data']

export type PayoutInvoice = DataOf<'PayoutInvoiceSubmitted'>

/** State of an invoice. Each payment hash is accepted at most once. */
export type InvoiceState = 'submitted' | 'accepted' | 'refused'

export type SettlementPayout = {
  /** All submitted invoices, by payment hash and in the order of their arrival. */
  readonly invoices: Readonly<Record<string, PayoutInvoice & { readonly state: InvoiceState }>>
  /** Payment hashes that were refused. */
  readonly refused: readonly string[]
  /** By `payeeKey`: the payment hash of the invoice that the creditor wants paid. */
  readonly usable: Readonly<Record<string, string>>
  readonly creditor: Creditor
  /** The causes that withhold the payout now. */
  readonly withheld: WithheldCauses
  /** Causes with a final decision, which do not withhold the payout again. */
  readonly settledCauses: readonly WithholdingCause[]
  readonly isDecidedForSeller: boolean
  readonly released: boolean
  readonly withheldUntilHeight: number | null
  readonly incidents: readonly string[]
  /** Number of payment attempts so far. */
  readonly attempts: number
  readonly paying: DataOf<'PayoutRequested'> | null
  readonly retryAt: number | null
  readonly paid: { readonly paymentHash: string; readonly feeMsat: bigint } | null
}

export type WithheldCauses = Readonly<Partial<Record<WithholdingCause, { readonly untilHeight: number }>>>

/** The buyer can be paid at any node; a seller is paid at the node that sold the channel. */
const BUYER = 'buyer'
export const payeeKey = ({ creditor, payee }: Pick<PayoutInvoice, 'creditor' | 'payee'>): string =>
  creditor === 'buyer' ? BUYER : payee

export const noPayout: SettlementPayout = {
  invoices: {},
  refused: [],
  usable: {},
  creditor: 'seller',
  withheld: {},
  settledCauses: [],
  isDecidedForSeller: false,
  released: false,
  withheldUntilHeight: null,
  incidents: [],
  attempts: 0,
  paying: null,
  retryAt: null,
  paid: null,
}

/** This incident ends when the payout is released again. All other incidents stay, so that each is recorded once. */
export const REORG_INCIDENT = 'funding-reorged'
/** The incident of a hold whose settlement was too late. */
export const SETTLE_MISSED_INCIDENT = 'settle-missed'
/** The incident of a payment that reached the seller after its share was owed to the buyer. */
export const SELLER_PAID_INCIDENT = 'seller-paid-late'
/** Stands beside the incident once an operator has retried the payout. */
const SELLER_PAID_DECIDED = 'seller-paid-late, decided'
/** Whether an operator has decided to pay the buyer although the seller was paid. */
export const mayPayBoth = ({ incidents }: Pick<SettlementPayout, 'incidents'>): boolean => incidents.includes(SELLER_PAID_DECIDED)

export function evolvePayout(payout: SettlementPayout, { type, data }: SettlementFact): SettlementPayout {
  switch (type) {
    case 'PayoutInvoiceSubmitted':
      return { ...payout, invoices: { ...payout.invoices, [data.paymentHash]: { ...data, state: 'submitted' } } }
    case 'PayoutInvoiceAccepted': {
      // The order sent the invoice again and got the same answer.
      if (payout.invoices[data.paymentHash]?.state === 'accepted') return payout
      const taken = withInvoiceState(payout, data.paymentHash, 'accepted')
      const invoice = taken.invoices[data.paymentHash]
      // A new invoice is tried at once.
      return invoice ? { ...taken, usable: { ...taken.usable, [payeeKey(invoice)]: data.paymentHash }, retryAt: null } : taken
    }
    case 'PayoutInvoiceRefused':
      return { ...withInvoiceState(payout, data.paymentHash, 'refused'), refused: [...payout.refused, data.paymentHash] }
    case 'PayoutWithheld': {
      const { cause, untilHeight } = data
      const withheld = { ...payout.withheld, [cause]: { untilHeight } }
      return { ...payout, withheld, released: false, withheldUntilHeight: untilHeight }
    }
    case 'WithholdingLifted':
      return liftCause(payout, data)
    // WithholdingLifted facts lift the decided causes. Later evidence about the channel starts another cause.
    case 'PayoutDecided':
      return data.to === 'seller' ? { ...payout, isDecidedForSeller: true } : payout
    case 'PayableClosed':
      return { ...payout, creditor: 'buyer', withheld: {}, released: true, retryAt: null, withheldUntilHeight: null }
    case 'LossRefuted':
      return { ...payout, withheld: {}, released: false, retryAt: null, withheldUntilHeight: null }
    case 'PayoutRetryRequested':
      return payout.incidents.includes(SELLER_PAID_INCIDENT) && !mayPayBoth(payout)
        ? { ...payout, retryAt: null, incidents: [...payout.incidents, SELLER_PAID_DECIDED] }
        : { ...payout, retryAt: null }
    case 'PayoutReleased':
      return {
        ...payout,
        released: true,
        retryAt: null,
        withheld: {},
        withheldUntilHeight: null,
        incidents: payout.incidents.filter((what) => what !== REORG_INCIDENT),
      }
    case 'IncidentRecorded':
      // A missed settlement is no incident of the channel, in case the node settled the payment nevertheless.
      if (data.what === SETTLE_MISSED_INCIDENT) return payout
      return { ...payout, incidents: [...payout.incidents, data.what] }
    case 'PayoutRequested':
      return { ...payout, attempts: data.attempt, paying: data, retryAt: null }
    case 'PayoutSucceeded':
      return { ...payout, paying: null, paid: { paymentHash: data.paymentHash, feeMsat: BigInt(data.feeMsat) } }
    case 'PayoutFailed':
      return {
        ...payout,
        paying: null,
        retryAt: data.retryAt,
        usable: data.retryAt === null ? withoutHash(payout.usable, data.paymentHash) : payout.usable,
      }
    default:
      return payout
  }
}

/** Causes that a confirmed operator loss covers: it is paid in any state of the channel, even if its invoice arrives later. */
export const CAUSES_COVERED_BY_LOSS: readonly WithholdingCause[] = [
  'peer-proof',
  'spend-unconfirmed',
  'spend-confirmed',
  'terms',
  'promise',
  'operator-loss',
]

function causesSettledWith(cause: WithholdingCause): readonly WithholdingCause[] {
  if (cause === 'operator-loss') return CAUSES_COVERED_BY_LOSS
  // If the funding had its payout confirmations when the wait for a spend ended, a later confirmed spend does not withhold again.
  return cause === 'spend-unconfirmed' ? [cause, 'spend-confirmed'] : [cause]
}

function liftCause(payout: SettlementPayout, { cause, how }: DataOf<'WithholdingLifted'>): SettlementPayout {
  const withheld: WithheldCauses = Object.fromEntries(Object.entries(payout.withheld).filter(([other]) => other !== cause))
  return {
    ...payout,
    withheld,
    // A cause that vanished may return. A decided cause does not withhold the payout again.
    settledCauses: how === 'gone' ? payout.settledCauses : [...new Set([...payout.settledCauses, ...causesSettledWith(cause)])],
    incidents: cause === 'reorg' ? payout.incidents.filter((what) => what !== REORG_INCIDENT) : payout.incidents,
  }
}

/**
 * Changes only an invoice that waits for its answer. A refusal may concern an invoice that was never stored. It may also concern
 * a second invoice with a known hash, whose first invoice may have been paid.
 */
function withInvoiceState(payout: SettlementPayout, paymentHash: string, state: InvoiceState): SettlementPayout {
  const invoice = payout.invoices[paymentHash]
  return invoice?.state === 'submitted'
    ? { ...payout, invoices: { ...payout.invoices, [paymentHash]: { ...invoice, state } } }
    : payout
}

const withoutHash = (usable: SettlementPayout['usable'], paymentHash: string): SettlementPayout['usable'] =>
  Object.fromEntries(Object.entries(usable).filter(([, hash]) => hash !== paymentHash))
