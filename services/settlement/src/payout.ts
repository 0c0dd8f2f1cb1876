import type { Creditor, SettlementFact, WithholdingCause } from '@penstock/contracts/settlement.ts'

type DataOf<Type extends SettlementFact['type']> = Extract<SettlementFact, { type: Type }>['data']

export type PayoutInvoice = DataOf<'PayoutInvoiceOffered'>

/** What became of a hash that was given here: a hash counts once. */
export type InvoiceFate = 'offered' | 'taken' | 'refused'

export type Payout = {
  /** By payment hash, everything that was ever given, in that order. */
  readonly invoices: Readonly<Record<string, PayoutInvoice & { readonly fate: InvoiceFate }>>
  /** Payment hashes that were answered with a no. */
  readonly refused: readonly string[]
  /** By `payeeOf`: the invoice that the creditor wants to be paid to. */
  readonly usable: Readonly<Record<string, string>>
  readonly creditor: Creditor
  /** What withholds it now. */
  readonly withheld: Withheld
  /** Causes that were dealt with for good: they do not withhold again. */
  readonly settledCauses: readonly WithholdingCause[]
  readonly isDecidedForSeller: boolean
  readonly released: boolean
  readonly withheldUntilHeight: number | null
  readonly incidents: readonly string[]
  /** Attempts so far. */
  readonly attempts: number
  readonly paying: DataOf<'PayoutRequested'> | null
  readonly retryAt: number | null
  readonly paid: { readonly paymentHash: string; readonly feeMsat: bigint } | null
}

export type Withheld = Readonly<Partial<Record<WithholdingCause, { readonly untilHeight: number }>>>

/** Any node may take the buyer's share for it; a seller is paid at the node that sold. */
const BUYER = 'buyer'
export const payeeOf = ({ creditor, payee }: Pick<PayoutInvoice, 'creditor' | 'payee'>): string =>
  creditor === 'buyer' ? BUYER : payee

export const noPayout: Payout = {
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

/** A re-org is over once the payout is released again; the others are remembered, so that they are noted once. */
export const REORGED = 'funding-reorged'
/** The incident of a hold that was to be settled when it was too late. */
export const SETTLE_MISSED = 'settle-missed'

export function evolvePayout(payout: Payout, { type, data }: SettlementFact): Payout {
  switch (type) {
    case 'PayoutInvoiceOffered':
      return { ...payout, invoices: { ...payout.invoices, [data.paymentHash]: { ...data, fate: 'offered' } } }
    case 'PayoutInvoiceTaken': {
      // Told once more, to an order that asked once more.
      if (payout.invoices[data.paymentHash]?.fate === 'taken') return payout
      const taken = withFate(payout, data.paymentHash, 'taken')
      const invoice = taken.invoices[data.paymentHash]
      // Another invoice is tried at once.
      return invoice ? { ...taken, usable: { ...taken.usable, [payeeOf(invoice)]: data.paymentHash }, retryAt: null } : taken
    }
    case 'PayoutInvoiceRefused':
      return { ...withFate(payout, data.paymentHash, 'refused'), refused: [...payout.refused, data.paymentHash] }
    case 'PayoutWithheld': {
      const { cause, untilHeight } = data
      const withheld = { ...payout.withheld, [cause]: { untilHeight } }
      return { ...payout, withheld, released: false, withheldUntilHeight: untilHeight }
    }
    case 'WithholdingLifted':
      return liftedFrom(payout, data)
    // The causes that it was about are lifted beside it; what shows of the channel later is another cause.
    case 'PayoutDecided':
      return data.to === 'seller' ? { ...payout, isDecidedForSeller: true } : payout
    case 'PayableClosed':
      return { ...payout, creditor: 'buyer', withheld: {}, released: true, retryAt: null, withheldUntilHeight: null }
    case 'LossRefuted':
      return { ...payout, withheld: {}, released: false, retryAt: null, withheldUntilHeight: null }
    case 'PayoutRetryRequested':
      return { ...payout, retryAt: null }
    case 'PayoutReleased':
      return {
        ...payout,
        released: true,
        retryAt: null,
        withheld: {},
        withheldUntilHeight: null,
        incidents: payout.incidents.filter((what) => what !== REORGED),
      }
    case 'IncidentNoted':
      // That a settling came late says nothing against the channel, should the node have taken the payment all the same.
      if (data.what === SETTLE_MISSED) return payout
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
        usable: data.retryAt === null ? without(payout.usable, data.paymentHash) : payout.usable,
      }
    default:
      return payout
  }
}

/** A loss that the operator has confirmed is paid, whatever shows of the channel before its invoice comes. */
export const DECIDED_FOR_GOOD: readonly WithholdingCause[] = [
  'peer-proof',
  'spend-unconfirmed',
  'spend-confirmed',
  'terms',
  'promise',
  'operator-loss',
]

function settledWith(cause: WithholdingCause): readonly WithholdingCause[] {
  if (cause === 'operator-loss') return DECIDED_FOR_GOOD
  // A funding that was buried at the end of the wait for a spend stays sold: that the spend confirms changes nothing.
  return cause === 'spend-unconfirmed' ? [cause, 'spend-confirmed'] : [cause]
}

function liftedFrom(payout: Payout, { cause, how }: DataOf<'WithholdingLifted'>): Payout {
  const withheld: Withheld = Object.fromEntries(Object.entries(payout.withheld).filter(([standing]) => standing !== cause))
  return {
    ...payout,
    withheld,
    // What has gone may come back; what was decided stays so.
    settledCauses: how === 'gone' ? payout.settledCauses : [...new Set([...payout.settledCauses, ...settledWith(cause)])],
    incidents: cause === 'reorg' ? payout.incidents.filter((what) => what !== REORGED) : payout.incidents,
  }
}

/**
 * Only an invoice that waits for its answer changes. A refusal may be about one that was never offered, or about a second
 * one with a hash that was taken before, and may have been paid.
 */
function withFate(payout: Payout, paymentHash: string, fate: InvoiceFate): Payout {
  const invoice = payout.invoices[paymentHash]
  return invoice?.fate === 'offered'
    ? { ...payout, invoices: { ...payout.invoices, [paymentHash]: { ...invoice, fate } } }
    : payout
}

const without = (usable: Payout['usable'], paymentHash: string): Payout['usable'] =>
  Object.fromEntries(Object.entries(usable).filter(([, hash]) => hash !== paymentHash))
