import assert from 'node:assert/strict'
import type { ChannelFact } from '@penstock/contracts/channel.ts'
import type { MatchFact } from '@penstock/contracts/matching.ts'
import { attestationOf, outpointOf } from '@penstock/testkit/order-terms.ts'
import { test } from 'vitest'
import { reactionsToChannel } from './channel.ts'
import { reactionsToMatching } from './matching.ts'

const orderId = '00000000-0000-4000-8000-0000000000aa'
const outpoint = outpointOf(1)

/** What an order is told when the watcher, or matching, has recorded this. */
const told = (fact: ChannelFact | MatchFact) => {
  const meta = { id: 'e', category: 'any', aggregateId: orderId, revision: 0, position: 0n, at: 0, commandId: '' }
  return [...reactionsToChannel, ...reactionsToMatching]
    .filter(({ type }) => type === fact.type)
    .flatMap(({ react }) => react({ ...meta, correlation: orderId, fact }))
    .map(({ id, command }) => {
      assert.equal(id, orderId)
      return [command.type, command.data]
    })
}

test('what a watch tells says of which naming it is', () => {
  const naming = 3
  const reason = 'gone'
  const at = { outpoint, tipHeight: 120, naming }
  const facts: readonly (readonly [ChannelFact, string, object])[] = [
    [{ type: 'FundingSeen', v: 2, data: { outpoint, atHeight: 120, naming } }, 'RecordFundingSeen', {}],
    [
      { type: 'FundingConfirmed', v: 2, data: { outpoint, height: 120, shortChannelId: '120x1x0', naming } },
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
    [{ type: 'ChannelWrong', v: 2, data: { ...at, code: 'spent', reason } }, 'RecordChannelWrong', { reason, blamed: false }],
    [
      { type: 'ChannelWrong', v: 2, data: { ...at, code: 'attested-push', reason } },
      'RecordChannelWrong',
      { reason, blamed: true },
    ],
  ]
  for (const [fact, type, data] of facts) assert.deepEqual(told(fact), [[type, { outpoint, ...data, naming }]])
  assert.deepEqual(told({ type: 'AttestationKept', v: 2, data: { outpoint, attestation: attestationOf(outpoint), naming } }), [
    ['RecordTold', { what: 'attestation-kept', key: outpoint, naming }],
  ])
})

test('a release says which question it answers', () => {
  assert.deepEqual(told({ type: 'MatchReleased', v: 1, data: { attempt: 2, question: 3, asked: null, reason: 'over' } }), [
    ['RecordTold', { what: 'match-released', key: '2', question: 3 }],
  ])
})
