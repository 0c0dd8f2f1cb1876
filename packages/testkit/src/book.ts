import type { BookEntry } from '@penstock/market/book.ts'
import { noEvidence } from '@penstock/market/score.ts'

/** Accounts and offers by number. */
export const uuid = (n: number) => `00000000-0000-4000-a000-${`${n}`.padStart(12, '0')}`
/** Nodes by number: of the right length, and of no key. */
export const pubkey = (n: number) => `02${`${n}`.padStart(64, '0')}`

/** An open offer of 100,000 to 5,000,000 sat, of a seller that is online and has funds for it. */
export const bookEntry = (
  n: number,
  promises: BookEntry['promises'],
  over: Partial<BookEntry> = {},
  seller: Partial<BookEntry['seller']> = {},
): BookEntry => ({
  offerId: uuid(n),
  accountId: uuid(n),
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
  ...over,
  seller: {
    pubkey: pubkey(n),
    live: true,
    fundsSat: 99_000_000n,
    reservedSat: 0n,
    granted: false,
    rails: false,
    score: 0.5,
    evidence: noEvidence,
    ...seller,
  },
})
