import type { Creditor, LedgerEntry, SettlementFact } from '@penstock/contracts/settlement.ts'
import { must } from '@penstock/kernel/result.ts'

export type Account = LedgerEntry['account']
/** Sums in msat by account; debits are positive. An account that nothing was posted to is not there. */
export type Balances = Readonly<Partial<Record<Account, bigint>>>

type Posting = Extract<SettlementFact, { type: 'LedgerPosted' }>

/** The platform's fee of a sale: less than was planned where a dearer seller stepped in. @returns msat */
export function feeTakenMsat(money: {
  readonly amountMsat: bigint
  readonly platformFeeMsat: bigint
  readonly sellerAmountMsat: bigint
}): bigint {
  const leftMsat = money.amountMsat - money.sellerAmountMsat
  must(leftMsat >= 0n, 'a seller takes no more than the price')
  return leftMsat < money.platformFeeMsat ? leftMsat : money.platformFeeMsat
}

/**
 * The buyer's money when it is ours. What neither the seller nor the platform's fee takes of the price is the
 * difference to a cheaper seller that stepped in, and below one sat what could not be charged exactly.
 */
export function settledPosting(money: {
  readonly receivedMsat: bigint
  readonly amountMsat: bigint
  readonly platformFeeMsat: bigint
  readonly sellerAmountMsat: bigint
}): Posting {
  const overpaymentMsat = money.receivedMsat - money.amountMsat
  const feeMsat = feeTakenMsat(money)
  const restMsat = money.amountMsat - feeMsat - money.sellerAmountMsat
  must(overpaymentMsat >= 0n, 'a hold is settled for its whole amount')
  const roundingMsat = restMsat % 1000n
  return posting('settled', [
    ['received', money.receivedMsat],
    ['payable', -money.sellerAmountMsat],
    ['platform-fee', -feeMsat],
    ['price-difference', -(restMsat - roundingMsat)],
    ['rounding', -roundingMsat],
    ['overpayment', -overpaymentMsat],
  ])
}

const ACCOUNT_OF = { seller: 'payable', buyer: 'owed-to-buyer' } as const satisfies Readonly<Record<Creditor, Account>>

/** A creditor's money when it is gone. The cost of its way is borne by the platform's fee. */
export const paidPosting = ({
  creditor,
  owedMsat: amountMsat,
  feeMsat,
}: {
  readonly creditor: Creditor
  readonly owedMsat: bigint
  readonly feeMsat: bigint
}): Posting =>
  posting('payout', [
    [ACCOUNT_OF[creditor], amountMsat],
    ['routing-cost', feeMsat],
    ['paid-out', -(amountMsat + feeMsat)],
  ])

/** The seller's share, where it goes back to the buyer. */
export const owedToBuyerPosting = (amountMsat: bigint): Posting =>
  posting('owed-to-buyer', [
    ['payable', amountMsat],
    ['owed-to-buyer', -amountMsat],
  ])

/** The seller's amount, where no payment of a buyer covers it. */
export const lossPosting = (amountMsat: bigint): Posting =>
  posting('operator-loss', [
    ['operator-loss', amountMsat],
    ['payable', -amountMsat],
  ])

export const lossRefutedPosting = (amountMsat: bigint): Posting =>
  posting('operator-loss-refuted', [
    ['payable', amountMsat],
    ['operator-loss', -amountMsat],
  ])

function posting(name: string, entries: readonly (readonly [Account, bigint])[]): Posting {
  must(entries.reduce((sum, [, amountMsat]) => sum + amountMsat, 0n) === 0n, 'a posting adds up to nothing')
  return {
    type: 'LedgerPosted',
    v: 1,
    data: {
      posting: name,
      entries: entries
        .filter(([, amountMsat]) => amountMsat !== 0n)
        .map(([account, amountMsat]) => ({ account, amountMsat: `${amountMsat}` })),
    },
  }
}

export function evolveBalances(balances: Balances, fact: SettlementFact): Balances {
  if (fact.type !== 'LedgerPosted') return balances
  return fact.data.entries.reduce<Balances>(
    (sums, { account, amountMsat }) => ({ ...sums, [account]: (sums[account] ?? 0n) + BigInt(amountMsat) }),
    balances,
  )
}

/** The part of the price that is still owed, to the seller or to the buyer: never to both. @returns msat */
export const owedMsat = (balances: Balances): bigint => -(balances.payable ?? 0n) - (balances['owed-to-buyer'] ?? 0n)
