import assert from 'node:assert/strict'
import type { ChannelFact } from '@penstock/contracts/channel.ts'
import { createOutpoint } from '@penstock/testkit/order-terms.ts'
import { test } from 'vitest'
import { reactionsToChannel } from './channel.ts'

const orderId = '00000000-0000-4000-8000-0000000000aa'
const outpoint = createOutpoint(1)

/** The commands that an order receives for a fact of the watcher. */
const commandsOf = (fact: ChannelFact) => {
  const meta = { id: 'e', category: 'any', aggregateId: orderId, revision: 0, position: 0n, at: 0, commandId: '' }
  return reactionsToChannel
    .filter(({ type }) => type === fact.type)
    .flatMap(({ react }) => react({ ...meta, correlation: orderId, fact }))
    .map(({ id, command }) => {
      assert.equal(id, orderId)
      return [command.type, command.data]
    })
}

test('each report of a watch carries the number of its submission', () => {
  const outpointNumber = 3
  const reason = 'gone'
  const at = { outpoint, tipHeight: 120, outpointNumber }
  const facts: readonly (readonly [ChannelFact, string, object])[] = [
    [{ type: 'FundingSeen', v: 3, data: { outpoint, atHeight: 120, outpointNumber } }, 'RecordFundingSeen', {}],
    [
      { type: 'FundingConfirmed', v: 2, data: { outpoint, height: 120, shortChannelId: '120x1x0', outpointNumber } },
      'RecordFundingConfirmed',
      { height: 120, channelId: '120x1x0' },
    ],
    [
      { type: 'ConfirmationsReached', v: 2, data: { ...at, confirmations: 3 } },
      'RecordConfirmationsReached',
      { confirmations: 3 },
    ],
    [{ type: 'FundingReorged', v: 2, data: { ...at, confirmedBefore: 130 } }, 'RecordFundingReorged', {}],
    [
      { type: 'FundingLost', v: 2, data: { ...at, failure: 'vanished', reason } },
      'RecordFundingLost',
      { failure: 'vanished', reason },
    ],
    [{ type: 'ChannelInvalid', v: 2, data: { ...at, code: 'spent', reason } }, 'RecordChannelInvalid', { reason, blamed: false }],
    [
      { type: 'ChannelInvalid', v: 2, data: { ...at, code: 'attested-push', reason } },
      'RecordChannelInvalid',
      { reason, blamed: true },
    ],
  ]
  for (const [fact, type, data] of facts) assert.deepEqual(commandsOf(fact), [[type, { outpoint, ...data, outpointNumber }]])
})
