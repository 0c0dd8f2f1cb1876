import type { Creditor, LedgerEntry, SettlementFact } from '@penstock/contracts/settlement.ts'
import { assert } from '@penstock/kernel/result.ts'

export type LedgerAccount = LedgerEntry['account']
/** Sums in msat by account; debits are positive. An account without postings is absent. */
export type LedgerBalances = Readonly<Partial<Record<LedgerAccount, bigint>>>

type Posting = Extract<SettlementFact, { type: 'LedgerPosted' }>

/** The platform's fee of a sale; it is lower than planned if a more expensive seller replaced the quoted seller. @returns msat */
export function feeTakenMsat(money: {
  readonly amountMsat: bigint
  readonly platformFeeMsat: bigint
  readonly sellerAmountMsat: bigint
}): bigint {
  const leftMsat = money.amountMsat - money.sellerAmountMsat
  assert(leftMsat >= 0n, 'a seller takes no more than the price')
  return leftMsat < money.platformFeeMsat ? leftMsat : money.platformFeeMsat
}

/**
 * Posts a settled payment. If a cheaper seller replaced the first seller, a part of the price remains. Its whole sats are the
 * price difference, and its fraction of a sat is rounding.
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
  assert(overpaymentMsat >= 0n, 'a hold is settled for its whole amount')
  const roundingMsat = restMsat % 1000n
  return toLedgerPosted('settled', [
    ['received', money.receivedMsat],
    ['payable', -money.sellerAmountMsat],
    ['platform-fee', -feeMsat],
    ['price-difference', -(restMsat - roundingMsat)],
    ['rounding', -roundingMsat],
    ['overpayment', -overpaymentMsat],
  ])
}

const CREDITOR_ACCOUNTS = { seller: 'payable', buyer: 'owed-to-buyer' } as const satisfies Readonly<
  Record<Creditor, LedgerAccount>
>

/** Posts a paid payout. The platform's fee bears the routing fee. */
export const paidPosting = ({
  creditor,
  owedMsat: amountMsat,
  feeMsat,
}: {
  readonly creditor: Creditor
  readonly owedMsat: bigint
  readonly feeMsat: bigint
}): Posting =>
  toLedgerPosted('payout', [
    [CREDITOR_ACCOUNTS[creditor], amountMsat],
    ['routing-cost', feeMsat],
    ['paid-out', -(amountMsat + feeMsat)],
  ])

/** Posts a payment that reached the seller although its share is owed to the buyer. The operator bears it. */
export const sellerPaidLatePosting = ({
  amountMsat,
  feeMsat,
}: {
  readonly amountMsat: bigint
  readonly feeMsat: bigint
}): Posting =>
  toLedgerPosted('seller-paid-late', [
    ['operator-loss', amountMsat],
    ['routing-cost', feeMsat],
    ['paid-out', -(amountMsat + feeMsat)],
  ])

/** Posts the seller's share as owed to the buyer. */
export const owedToBuyerPosting = (amountMsat: bigint): Posting =>
  toLedgerPosted('owed-to-buyer', [
    ['payable', amountMsat],
    ['owed-to-buyer', -amountMsat],
  ])

/** Posts a seller's amount that no payment of a buyer covers. */
export const lossPosting = (amountMsat: bigint): Posting =>
  toLedgerPosted('operator-loss', [
    ['operator-loss', amountMsat],
    ['payable', -amountMsat],
  ])

export const lossRefutedPosting = (amountMsat: bigint): Posting =>
  toLedgerPosted('operator-loss-refuted', [
    ['payable', amountMsat],
    ['operator-loss', -amountMsat],
  ])

function toLedgerPosted(name: string, entries: readonly (readonly [LedgerAccount, bigint])[]): Posting {
  assert(entries.reduce((sum, [, amountMsat]) => sum + amountMsat, 0n) === 0n, 'the entries of a posting add up to zero')
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

export function evolveBalances(balances: LedgerBalances, fact: SettlementFact): LedgerBalances {
  if (fact.type !== 'LedgerPosted') return balances
  return fact.data.entries.reduce<LedgerBalances>(
    (sums, { account, amountMsat }) => ({ ...sums, [account]: (sums[account] ?? 0n) + BigInt(amountMsat) }),
    balances,
  )
}

/** The amount that is still owed, either to the seller or to the buyer. @returns msat */
export const owedMsat = (balances: LedgerBalances): bigint => -(balances.payable ?? 0n) - (balances['owed-to-buyer'] ?? 0n)
