import { expect, test } from 'vitest'
import { matchAttemptLifecycle } from './match.ts'
import { offerLifecycle } from './offer.ts'
import { sellerLifecycle } from './seller.ts'

test.each([
  ['match', matchAttemptLifecycle.edges],
  ['offer', offerLifecycle.edges],
  ['seller', sellerLifecycle.edges],
] as const)('every edge of the machine: %s', (_, edges) => {
  expect(edges.map((edge) => edge.join(' ')).toSorted()).toMatchSnapshot()
})
