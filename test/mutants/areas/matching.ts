import { createMutants } from '../mutant.ts'

const src = 'services/matching/src'
const market = 'packages/market/src'

export const matchingMutants = createMutants('matching', [
  {
    id: 'oversold-offer',
    description: 'Reserved capacity counts as free: two buyers pay for the same coins, and one of them gets no channel.',
    file: `${src}/offer.decide.ts`,
    text: 'BigInt(offer.terms.totalSizeSat) - offer.reservedSat - offer.usedSat',
    replacement: 'BigInt(offer.terms.totalSizeSat) - offer.usedSat',
  },
  {
    id: 'reserved-twice',
    description: 'A repeated reservation request reserves again: capacity disappears that no order uses.',
    file: `${src}/offer.decide.ts`,
    text: 'if (key in offer.open || offer.endedKeys.includes(key)) return accept()',
    replacement: 'if (offer.endedKeys.includes(key)) return accept()',
  },
  {
    id: 'overtaken-release-forgotten',
    description: 'A release that arrives before its reservation is ignored: the reservation arrives later, and stays for ever.',
    file: `${src}/offer.decide.ts`,
    text: `if (type === 'UseReservation' || offer.endedKeys.includes(key)) return accept()`,
    replacement: 'if (sizeSat === undefined) return accept()',
  },
  {
    id: 'release-frees-nothing',
    description: 'Released capacity still counts as reserved: a seller cannot sell it again after one failed order.',
    file: `${src}/offer.ts`,
    text: 'reservedSat: offer.reservedSat - sizeSat,',
    replacement: `reservedSat: fact.type === 'ReservationUsed' ? offer.reservedSat - sizeSat : offer.reservedSat,`,
  },
  {
    id: 'reservation-not-released',
    description:
      'The end of a search releases only matched capacity: the capacity of a pending reservation request stays reserved.',
    file: `${src}/match.decide.ts`,
    text: `const asked = status === 'RELEASED' ? null : reservationOf(candidates, round)`,
    replacement: `const asked = status === 'MATCHED' ? reservationOf(candidates, round) : null`,
  },
  {
    id: 'answer-of-an-older-round',
    description: 'The answer to an earlier request counts for the current one: a seller is matched whose capacity was released.',
    file: `${src}/match.decide.ts`,
    text: 'if (candidate?.offerId !== offerId || round !== asked) return accept()',
    replacement: 'if (candidate?.offerId !== offerId) return accept()',
  },
  {
    id: 'tried-seller-tried-again',
    description: 'A seller that failed is tried again with another of its offers: the buyer waits for it a second time.',
    file: `${src}/search.ts`,
    text: '!triedNodes.has(seller.pubkey) && !triedAccounts.has(accountId)',
    replacement: '!(triedNodes.has(seller.pubkey) && triedAccounts.has(accountId))',
  },
  {
    id: 'dearer-than-the-budget',
    description: 'A replacement seller may have any price: it gets more than the buyer has paid.',
    file: `${src}/search.ts`,
    text: 'entry.offerId !== first.offerId && sellerAmountMsat <= budgetMsat',
    replacement: 'entry.offerId !== first.offerId && sellerAmountMsat >= 0n && budgetMsat >= 0n',
  },
  {
    id: 'heartbeat-of-anybody',
    description:
      'A heartbeat counts without a signature of its node: dead sellers stay in the order book, and buyers wait for them.',
    file: `${src}/seller.ts`,
    text: 'if (data.pubkey !== data.node || recoverPubkey(text, data.signature) !== data.node)',
    replacement: `if (data.pubkey !== data.node || text === '')`,
  },
  {
    id: 'replayed-heartbeat',
    description: 'An old attestation of funds is accepted again: coins that were spent since then are sold.',
    file: `${src}/seller.ts`,
    text: 'if (data.previousAt !== null && data.at < data.previousAt)',
    replacement: 'if (data.previousAt !== null && data.at < 0)',
  },
  {
    id: 'outcome-counted-twice',
    description: 'A repeated outcome counts again: messages that are delivered twice raise or lower the score of a seller.',
    file: `${src}/seller.ts`,
    text: 'return seller.countedOutcomes.includes(outcomeKeyOf(command.data))',
    replacement: `return seller.countedOutcomes.includes('')`,
  },
  {
    id: 'rails-of-the-dead',
    description: 'A seller without heartbeats stays in the rails cluster by its score: private orders wait for a dead seller.',
    file: `${market}/order-book.ts`,
    text: 'granted || (live && score >= railsScore)',
    replacement: 'granted || score >= railsScore',
  },
  {
    id: 'funds-sold-twice',
    description:
      'Capacity that is reserved at other offers of a seller counts as its funds: it sells coins that it needs elsewhere.',
    file: `${market}/rank.ts`,
    text: 'entry.availableSat, fundsSat - (reservedSat - fundedSat)]',
    replacement: 'entry.availableSat, fundsSat]',
    killers: [`${market}/market.test.ts`],
  },
  {
    id: 'funding-counted-before-attested',
    description: 'A funding lowers the reserved funds before the funds are attested again: a seller sells spent coins once more.',
    file: `${market}/funded-reservations.ts`,
    text: 'attestedAt > seenAt + MAX_CLOCK_DIFFERENCE_MS',
    replacement: 'attestedAt >= 0',
    killers: [`${market}/order-book.test.ts`],
  },
  {
    id: 'spent-coins-stay-reserved',
    description:
      'Coins that a funding has spent stay reserved: a seller with coins for two channels sells one until it is valid.',
    file: `${market}/rank.ts`,
    text: 'fundsSat - (reservedSat - fundedSat)]',
    replacement: 'fundsSat - reservedSat]',
    killers: [`${market}/order-book.test.ts`],
  },
  {
    id: 'price-rounded-down',
    description: 'A price is rounded down to whole satoshis: the platform pays the missing part of each sale.',
    file: 'packages/kernel/src/money.ts',
    text: '(msat + MSAT_PER_SAT - 1n) / MSAT_PER_SAT',
    replacement: 'msat / MSAT_PER_SAT',
    killers: [`${market}/market.test.ts`],
  },
  {
    id: 'match-released-offer-not-told',
    description: 'The release of a match does not reach its offer: the capacity is lost with each order that fails.',
    file: `${src}/service.ts`,
    text: `    asked ? [{ id: asked.offerId, data: { orderId, attempt, round: asked.round, reason } }]`,
    replacement: `    asked && attempt > 1 ? [{ id: asked.offerId, data: { orderId, attempt, round: asked.round, reason } }]`,
  },
  {
    id: 'wish-that-is-over',
    description:
      'A renewal that a later release has overtaken reserves capacity: no other release follows, and the capacity is lost.',
    file: `${src}/match.decide.ts`,
    text: `  if (requestNumber !== 0 && requestNumber < answeredRequest) return accept()\n`,
    replacement: '',
  },
  {
    id: 'late-release',
    description: 'A release from before a renewal counts after it: the capacity is sold again while it is in use.',
    file: `${src}/match.ts`,
    text: '{ round: fact.data.round, answeredRequest: Math.max(attempt.answeredRequest, fact.data.requestNumber) }',
    replacement: '{ round: fact.data.round }',
  },
])
