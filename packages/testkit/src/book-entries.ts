import type { BookEntry } from '@penstock/market/order-book.ts'
import { noEvidence } from '@penstock/market/score.ts'

/** The id of the account, and of the offer, with this number. */
export const uuidFor = (n: number) => `00000000-0000-4000-a000-${`${n}`.padStart(12, '0')}`
/** The public key of the node with this number. It has the right length, but is not a valid key. */
export const pubkeyFor = (n: number) => `02${`${n}`.padStart(64, '0')}`

/** An enabled offer of 100,000 to 5,000,000 sat, by a live seller with enough funds. */
export const createBookEntry = (
  n: number,
  promises: BookEntry['promises'],
  overrides: Partial<BookEntry> = {},
  seller: Partial<BookEntry['seller']> = {},
): BookEntry => ({
  offerId: uuidFor(n),
  accountId: uuidFor(n),
  status: 'ENABLED',
  totalSizeSat: 9_000_000n,
  minSizeSat: 100_000n,
  maxSizeSat: 5_000_000n,
  promises,
  conditions: [],
  assetId: null,
  autoAccept: true,
  reservedSat: 0n,
  usedSat: 0n,
  availableSat: 9_000_000n,
  createdAt: 0,
  ...overrides,
  seller: {
    pubkey: pubkeyFor(n),
    live: true,
    fundsSat: 99_000_000n,
    reservedSat: 0n,
    fundedSat: 0n,
    granted: false,
    rails: false,
    score: 0.5,
    evidence: noEvidence,
    ...seller,
  },
})
