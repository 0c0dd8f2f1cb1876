import type { SettlementFact } from '@penstock/contracts/settlement.ts'

type DataOf<Type extends SettlementFact['type']> = Extract<SettlementFact, { type: Type }>['data']

export type PayoutInvoice = DataOf<'PayoutInvoiceOffered'>

/** What became of a hash that was given here: a hash counts once. */
export type InvoiceFate = 'offered' | 'taken' | 'refused'

export type Payout = {
  /** By payment hash, everything that was ever given, in that order. */
  readonly invoices: Readonly<Record<string, PayoutInvoice & { readonly fate: InvoiceFate }>>
  /** Payment hashes that were answered with a no. */
  readonly refused: readonly string[]
  /** By the seller's key: the invoice that it wants to be paid to. */
  readonly usable: Readonly<Record<string, string>>
  readonly released: boolean
  readonly withheldUntilHeight: number | null
  readonly incidents: readonly string[]
  /** Attempts so far. */
  readonly attempts: number
  readonly paying: DataOf<'PayoutRequested'> | null
  readonly retryAt: number | null
  readonly paid: { readonly paymentHash: string; readonly feeMsat: bigint } | null
}

export const noPayout: Payout = {
  invoices: {},
  refused: [],
  usable: {},
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
      const payee = taken.invoices[data.paymentHash]?.payee
      // Another invoice is tried at once.
      return payee === undefined ? taken : { ...taken, usable: { ...taken.usable, [payee]: data.paymentHash }, retryAt: null }
    }
    case 'PayoutInvoiceRefused':
      return { ...withFate(payout, data.paymentHash, 'refused'), refused: [...payout.refused, data.paymentHash] }
    case 'PayoutWithheld':
      return { ...payout, released: false, withheldUntilHeight: data.untilHeight }
    case 'PayoutReleased':
      return {
        ...payout,
        released: true,
        retryAt: null,
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

/** Only an invoice that is known changes: a refusal may be about one that was never offered. */
function withFate(payout: Payout, paymentHash: string, fate: InvoiceFate): Payout {
  const invoice = payout.invoices[paymentHash]
  return invoice ? { ...payout, invoices: { ...payout.invoices, [paymentHash]: { ...invoice, fate } } } : payout
}

const without = (usable: Payout['usable'], paymentHash: string): Payout['usable'] =>
  Object.fromEntries(Object.entries(usable).filter(([, hash]) => hash !== paymentHash))
