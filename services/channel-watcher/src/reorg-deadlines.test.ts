import {
  createEvidence,
  channelFact,
  fundingMissing,
  acceptedOutpoint,
  observeCommand,
  openedChannelFacts,
  channelOutpoint,
  createOutput,
  fundingSeen,
} from '@penstock/testkit/channel-facts.ts'
import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import { channelDecider } from './channel.decide.ts'

/** @param confirmedBefore the deadline height for the next confirmation of the funding */
const reorged = (tipHeight: number, confirmedBefore: number) =>
  channelFact('FundingReorged', { outpoint: channelOutpoint, tipHeight, confirmedBefore, outpointNumber: 1 })

describe('a re-organisation', () => {
  test('does not make a funding late if the funding was confirmed in time', () => {
    const histories = [
      [...openedChannelFacts, reorged(102, 110)],
      [...openedChannelFacts, reorged(102, 110), fundingMissing, fundingSeen],
    ]
    for (const history of histories) {
      given(channelDecider, ...history)
        .when(observeCommand(createEvidence(200, createOutput(null))))
        .then()
      given(channelDecider, ...history)
        .when(observeCommand(createEvidence(200, createOutput(200))))
        .then(
          channelFact('FundingConfirmed', {
            outpoint: channelOutpoint,
            height: 200,
            shortChannelId: '200x2x1',
            outpointNumber: 1,
          }),
        )
    }
    // Without a mempool source the watcher cannot see whether the funding was replaced, so the watch stays open.
    given(channelDecider, ...openedChannelFacts, reorged(102, 110))
      .when(observeCommand(createEvidence(200, null), false))
      .then()
  })
  test('does not protect a funding that vanishes afterwards', () => {
    const reason = 'The funding transaction was seen and is gone: replaced, double-spent or dropped.'
    given(channelDecider, ...openedChannelFacts, reorged(102, 110), fundingMissing)
      .when(observeCommand(createEvidence(104, null)))
      .then(
        channelFact('FundingLost', { outpoint: channelOutpoint, failure: 'vanished', reason, tipHeight: 104, outpointNumber: 1 }),
      )
  })
  test('of one outpoint does not extend the deadline of another outpoint', () => {
    const again = channelFact('WatchStarted', {
      ...acceptedOutpoint,
      outpointNumber: 2,
      fromHeight: 93,
      seenBefore: 106,
      confirmedBefore: 108,
    })
    const { decision } = given(channelDecider, ...openedChannelFacts, reorged(102, 110), again, fundingSeen).when(
      observeCommand(createEvidence(108, createOutput(null))),
    )
    expect(decision).toMatchObject({ facts: [{ type: 'FundingLost', data: { failure: 'unconfirmed' } }] })
  })
})
