import type { ChannelFact } from '@penstock/contracts/channel.ts'
import { fold } from '@penstock/kernel/decider.ts'
import { createEvidence, observeCommand, channelOutpoint, createOutput, watchCommand } from '@penstock/testkit/channel-facts.ts'
import { expect, test } from 'vitest'
import { channelDecider } from './channel.decide.ts'

type EnrichedCommand = Parameters<typeof channelDecider.decide>[1]

/** A watch that decides one command after another. */
function openWatch() {
  const facts: ChannelFact[] = []
  return {
    facts,
    decideNext: (command: object): void => {
      const state = fold(channelDecider, facts)
      const decision = channelDecider.decide(state, { id: 'c', at: 0, ...command } as EnrichedCommand) // the tests pass whole commands
      if ('facts' in decision) facts.push(...decision.facts)
    },
  }
}

const inventedOutpoint = (n: number): string => `${n.toString(16).padStart(2, '0').repeat(32)}:0`
const observation = (at: number, outpoint: string) => ({
  type: 'Observe',
  data: { outpoint, evidence: createEvidence(at, null), seesMempool: true },
})

test.each([
  ['with the deadline of the order', { seenBefore: 106 }],
  ['without a deadline of the order', {}],
])('the window counts from the first submission %s', (_, deadline) => {
  const { facts, decideNext } = openWatch()
  for (let n = 1; n <= 3; n++) {
    const height = 100 + 3 * (n - 1)
    decideNext(watchCommand({ outpoint: inventedOutpoint(n), outpointNumber: n, height, ...deadline }))
    for (let at = height; at < height + 3; at++) decideNext(observation(at, inventedOutpoint(n)))
  }
  const lost = facts.find(({ type }) => type === 'FundingLost')
  expect(lost?.data).toMatchObject({ outpoint: inventedOutpoint(3), failure: 'never-seen', tipHeight: 106 })
})

test('the deadline of the order applies, even if it is not six blocks ahead', () => {
  const { facts, decideNext } = openWatch()
  decideNext(watchCommand({ height: 102, seenBefore: 103 }))
  expect(facts[0]?.data).toMatchObject({ seenBefore: 103, confirmedBefore: 110 })
})

test('the outpoint of the next seller gets a window of its own', () => {
  const { facts, decideNext } = openWatch()
  decideNext(watchCommand({ outpoint: inventedOutpoint(1), outpointNumber: 1, height: 100 }))
  decideNext(watchCommand({ outpoint: inventedOutpoint(2), outpointNumber: 2, attempt: 2, height: 104 }))
  expect(facts.map(({ data }) => 'seenBefore' in data && data.seenBefore)).toEqual([106, 110])
})

test('a funding that was seen in time is not lost to the window after a re-organisation', () => {
  const { facts, decideNext } = openWatch()
  decideNext(watchCommand({ seenBefore: 106 }))
  decideNext(observeCommand(createEvidence(105, createOutput(null))))
  decideNext(observeCommand(createEvidence(107, createOutput(107))))
  decideNext(observeCommand(createEvidence(108, createOutput(null))))
  decideNext(observeCommand(createEvidence(110, createOutput(null))))
  expect(facts.map(({ type }) => type)).toEqual(['WatchStarted', 'FundingSeen', 'FundingConfirmed', 'FundingReorged'])
  decideNext(observeCommand(createEvidence(111, createOutput(111))))
  expect(facts.at(-1)).toMatchObject({ type: 'FundingConfirmed', data: { outpoint: channelOutpoint, height: 111 } })
})
