import { holdHeights } from '@penstock/contracts/order/heights.ts'
import { computeOpenBeforeHeight } from '@penstock/order/terms.ts'
import { choosePolicy } from '@penstock/quote/policy.ts'
import { readConfig } from '@penstock/config/config.ts'
import { fold } from '@penstock/kernel/decider.ts'
import {
  E,
  registeredOutpoint,
  holdRequestedFact,
  sampleHoldTerms,
  heldHistory,
  unseenOutpoint,
} from '@penstock/settlement/samples.fixture.ts'
import { settlementDecider } from '@penstock/settlement/settlement.decide.ts'
import { createOrderTerms } from '@penstock/testkit/order-terms.ts'
import { expect, test } from 'vitest'

type Heights = typeof holdHeights

/** @returns the limits that quote, order and settlement compute from the table `holdHeights` for a new order */
function readLimits(): { readonly cltvDelta: number; readonly openBefore: number; readonly lastSubmission: number } {
  const quoted = choosePolicy({ offerId: null, requiredConfirmations: null, fundingConfirmsWithinBlocks: null }, readConfig({}))
  if (!('policy' in quoted)) throw new Error('no policy')
  const { policy } = quoted
  const { guardBlocks, fundingConfirmsWithinBlocks } = policy
  const [, ...held] = heldHistory
  const state = fold(settlementDecider, [
    { ...holdRequestedFact, data: { ...holdRequestedFact.data, ...sampleHoldTerms, guardBlocks, fundingConfirmsWithinBlocks } },
    ...held,
  ])
  const isAccepted = (height: number): boolean => {
    const decision = settlementDecider.decide(state, {
      id: 'command',
      at: 0,
      type: 'RegisterOutpoint',
      data: { ...registeredOutpoint, ...unseenOutpoint, height },
    })
    return 'facts' in decision && decision.facts.some(({ type }) => type === 'OutpointRegistered')
  }
  return {
    cltvDelta: policy.cltvDelta,
    openBefore: computeOpenBeforeHeight({ ...createOrderTerms(), policy }, E),
    lastSubmission: Array.from({ length: E }, (_, height) => height).findLast(isAccepted) ?? 0,
  }
}

function withHeights<T>(change: Partial<Heights>, read: () => T): T {
  const before = { ...holdHeights }
  Object.assign(holdHeights, change)
  try {
    return read()
  } finally {
    Object.assign(holdHeights, before)
  }
}

test('order and settlement compute the last height of a funding broadcast from the table `holdHeights`', () => {
  const { openBefore, lastSubmission } = readLimits()
  expect([openBefore, lastSubmission]).toEqual([E - 24 - 6 - 6 - 6, E - 24 - 6 - 6 - 6])
})

test.each(['guardBlocks', 'spareBlocks', 'leastConfirmationBlocks'] as const)(
  'one more block of %s moves the heights of quote, order and settlement by one block',
  (name) => {
    const before = readLimits()
    const after = withHeights({ [name]: holdHeights[name] + 1 }, readLimits)
    expect(after).toEqual({
      cltvDelta: before.cltvDelta + 1,
      openBefore: before.openBefore - 1,
      lastSubmission: before.lastSubmission - 1,
    })
    expect(readLimits()).toEqual(before)
  },
)
