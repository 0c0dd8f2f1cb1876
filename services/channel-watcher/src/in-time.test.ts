import { evidence, fact, missing, named, observe, opened, outpoint, output, seen } from '@penstock/testkit/channel-story.ts'
import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import { channelDecider } from './channel.decide.ts'

const back = (tipHeight: number, confirmedBefore: number) =>
  fact('FundingReorged', { outpoint, tipHeight, confirmedBefore, naming: 1 })

describe('a re-organisation', () => {
  test('does not make late what was confirmed in time', () => {
    const histories = [
      [...opened, back(102, 110)],
      [...opened, back(102, 110), missing, seen],
    ]
    for (const history of histories) {
      given(channelDecider, ...history)
        .when(observe(evidence(200, output(null))))
        .then()
      given(channelDecider, ...history)
        .when(observe(evidence(200, output(200))))
        .then(fact('FundingConfirmed', { outpoint, height: 200, shortChannelId: '200x2x1', naming: 1 }))
    }
    // It cannot be told from one that was replaced where nobody sees a mempool: the payment's last height decides.
    given(channelDecider, ...opened, back(102, 110))
      .when(observe(evidence(200, null), false))
      .then()
  })
  test('that has it replaced loses it all the same', () => {
    const reason = 'The funding transaction was seen and is gone: replaced, double-spent or dropped.'
    given(channelDecider, ...opened, back(102, 110), missing)
      .when(observe(evidence(104, null)))
      .then(fact('FundingLost', { outpoint, failure: 'vanished', reason, tipHeight: 104, naming: 1 }))
  })
  test('of one outpoint gives another one no more time', () => {
    const again = fact('WatchStarted', { ...named, naming: 2, fromHeight: 93, seenBefore: 106, confirmedBefore: 108 })
    const { decision } = given(channelDecider, ...opened, back(102, 110), again, seen).when(observe(evidence(108, output(null))))
    expect(decision).toMatchObject({ facts: [{ type: 'FundingLost', data: { failure: 'unconfirmed' } }] })
  })
})
