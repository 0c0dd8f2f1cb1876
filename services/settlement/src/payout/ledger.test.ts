import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { evolveBalances, owedMsat, paidPosting, settledPosting, type LedgerBalances } from './ledger.ts'

const msat = (max = 10n ** 13n) => fc.bigInt({ min: 0n, max })
/** A price that covers the seller and the fee, and a payment that covers the price. */
const money = fc
  .record({
    sellerAmountMsat: msat().map((amount) => amount + 1n),
    platformFeeMsat: msat(),
    restMsat: msat(),
    overpaymentMsat: msat(),
    feeMsat: msat(),
  })
  .map((m) => ({
    ...m,
    amountMsat: m.sellerAmountMsat + m.platformFeeMsat + m.restMsat,
    receivedMsat: m.sellerAmountMsat + m.platformFeeMsat + m.restMsat + m.overpaymentMsat,
  }))

const sumOf = (posting: SettlementFact): bigint =>
  posting.type === 'LedgerPosted' ? posting.data.entries.reduce((sum, { amountMsat }) => sum + BigInt(amountMsat), 0n) : -1n
const total = (balances: LedgerBalances): bigint => Object.values(balances).reduce((sum, amountMsat) => sum + amountMsat, 0n)

test('every posting adds up to zero, and every amount has an account', () => {
  fc.assert(
    fc.property(money, (m) => {
      const settled = settledPosting(m)
      const paid = paidPosting({ creditor: 'seller', owedMsat: m.sellerAmountMsat, feeMsat: m.feeMsat })
      expect([sumOf(settled), sumOf(paid)]).toEqual([0n, 0n])

      const before = evolveBalances({}, settled)
      expect(total(before)).toBe(0n)
      expect(owedMsat(before)).toBe(m.sellerAmountMsat)
      // Only the received amount is a debit; every claim on it is a credit.
      for (const [account, amountMsat] of Object.entries(before))
        expect(account === 'received' ? amountMsat > 0n : amountMsat < 0n).toBe(true)
      expect(before.received).toBe(m.receivedMsat)
      expect(-(before.overpayment ?? 0n)).toBe(m.overpaymentMsat)
      expect(-(before['platform-fee'] ?? 0n)).toBe(m.platformFeeMsat)
      expect(-(before['price-difference'] ?? 0n) - (before.rounding ?? 0n)).toBe(m.restMsat)
      expect(-(before.rounding ?? 0n)).toBeLessThan(1000n)

      const after = evolveBalances(before, paid)
      expect(total(after)).toBe(0n)
      expect(owedMsat(after)).toBe(0n)
      expect(-(after['paid-out'] ?? 0n)).toBe(m.sellerAmountMsat + m.feeMsat)
      expect(after['routing-cost'] ?? 0n).toBe(m.feeMsat)
    }),
  )
})

test('a more expensive replacement of the seller reduces the platform fee', () => {
  const { data } = settledPosting({ receivedMsat: 10_000n, amountMsat: 10_000n, platformFeeMsat: 3000n, sellerAmountMsat: 9000n })
  expect(data.entries).toEqual([
    { account: 'received', amountMsat: '10000' },
    { account: 'payable', amountMsat: '-9000' },
    { account: 'platform-fee', amountMsat: '-1000' },
  ])
})

test('a settlement below the price, or a seller amount above it, is a bug', () => {
  expect(() => settledPosting({ receivedMsat: 9n, amountMsat: 10n, platformFeeMsat: 0n, sellerAmountMsat: 10n })).toThrow(
    'whole amount',
  )
  expect(() => settledPosting({ receivedMsat: 10n, amountMsat: 10n, platformFeeMsat: 1n, sellerAmountMsat: 11n })).toThrow(
    'no more than the price',
  )
})
