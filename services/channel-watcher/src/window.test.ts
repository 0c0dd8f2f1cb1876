import type { ChannelFact } from '@penstock/contracts/channel.ts'
import { fold } from '@penstock/kernel/decider.ts'
import { evidence, observe, outpoint, output, watch } from '@penstock/testkit/channel-story.ts'
import { expect, test } from 'vitest'
import { channelDecider } from './channel.decide.ts'

type Wish = Parameters<typeof channelDecider.decide>[1]

/** A watch that is told and shown things one after another. */
function watched() {
  const facts: ChannelFact[] = []
  return {
    facts,
    tell: (command: object): void => {
      const state = fold(channelDecider, facts)
      const decision = channelDecider.decide(state, { id: 'c', at: 0, ...command } as Wish) // as the helpers of the story make it
      if ('facts' in decision) facts.push(...decision.facts)
    },
  }
}

const invented = (n: number): string => `${n.toString(16).padStart(2, '0').repeat(32)}:0`
const looked = (at: number, of: string) => ({
  type: 'Observe',
  data: { outpoint: of, evidence: evidence(at, null), seesMempool: true },
})

test.each([
  ['as the order tells it', { seenBefore: 106 }],
  ['where the order does not tell it', {}],
])('the window counts from the first naming, %s', (_, told) => {
  const { facts, tell } = watched()
  for (let n = 1; n <= 3; n++) {
    const height = 100 + 3 * (n - 1)
    tell(watch({ outpoint: invented(n), naming: n, height, ...told }))
    for (let at = height; at < height + 3; at++) tell(looked(at, invented(n)))
  }
  const lost = facts.find(({ type }) => type === 'FundingLost')
  expect(lost?.data).toMatchObject({ outpoint: invented(3), failure: 'never-seen', tipHeight: 106 })
})

test('the height that the order tells counts, also where it is not six blocks from now', () => {
  const { facts, tell } = watched()
  tell(watch({ height: 102, seenBefore: 103 }))
  expect(facts[0]?.data).toMatchObject({ seenBefore: 103, confirmedBefore: 110 })
})

test('the next seller has a window of its own', () => {
  const { facts, tell } = watched()
  tell(watch({ outpoint: invented(1), naming: 1, height: 100 }))
  tell(watch({ outpoint: invented(2), naming: 2, attempt: 2, height: 104 }))
  expect(facts.map(({ data }) => 'seenBefore' in data && data.seenBefore)).toEqual([106, 110])
})

test('once seen the window is over, and a re-organisation does not bring it back', () => {
  const { facts, tell } = watched()
  tell(watch({ seenBefore: 106 }))
  tell(observe(evidence(105, output(null))))
  tell(observe(evidence(107, output(107))))
  tell(observe(evidence(108, output(null))))
  tell(observe(evidence(110, output(null))))
  expect(facts.map(({ type }) => type)).toEqual(['WatchStarted', 'FundingSeen', 'FundingConfirmed', 'FundingReorged'])
  tell(observe(evidence(111, output(111))))
  expect(facts.at(-1)).toMatchObject({ type: 'FundingConfirmed', data: { outpoint, height: 111 } })
})
