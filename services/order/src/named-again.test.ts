import { given } from '@penstock/testkit/given.ts'
import { outpointOf } from '@penstock/testkit/order-terms.ts'
import { describe, test } from 'vitest'
import { fact } from './fact.ts'
import { order } from './order.ts'
import { named } from './samples.contract.ts'

const [one, two] = [outpointOf(1), outpointOf(2)]
const naming = (outpoint: string, isNew = true) => [
  fact('OutpointOffered', { attempt: 1, outpoint, attestation: null }),
  ...(isNew ? [fact('OutpointClaimed', { attempt: 1, outpoint })] : []),
  fact('OutpointNamed', { attempt: 1, outpoint }),
]
const started = fact('Told', { what: 'watch-started', key: one })
const ended = fact('Told', { what: 'watch-stopped', key: '1' })
/** The seller names one outpoint, another, and the first again: that is the third naming. */
const again = [...named, started, ...naming(two), ...naming(one, false)]

const watch = (number?: number) =>
  ({
    type: 'RecordTold',
    data: { what: 'watch-started', key: one, ...(number === undefined ? {} : { naming: number }) },
  }) as const
const reason = 'It is gone.'
const lost = { type: 'RecordFundingLost', data: { outpoint: one, failure: 'vanished', reason } } as const
const wrong = { type: 'RecordChannelWrong', data: { outpoint: one, reason } } as const

describe('a seller that goes back to an outpoint that it had named before', () => {
  test('does not fail for what the watch of the earlier naming tells late', () => {
    for (const late of [lost, wrong])
      given(order, ...again)
        .when(late)
        .then()
  })

  test('fails for what the watch of this naming tells', () => {
    given(order, ...again, started)
      .when(lost)
      .then(ended, fact('ReleaseRequested', { to: 'SELLER_FAILED_TO_SEND_SWAP', reason, blamed: true, by: null }))
    given(order, ...again, started)
      .when(wrong)
      .then(ended, fact('ReleaseRequested', { to: 'INVALID_CHANNEL_OPENING', reason, blamed: true, by: null }))
  })

  test('is watched anew: only the watch of this naming counts as begun', () => {
    for (const number of [1, 2])
      given(order, ...again)
        .when(watch(number))
        .then()
    for (const number of [3, 0, undefined])
      given(order, ...again)
        .when(watch(number))
        .then(started)
  })

  test('is still told to end the watch where the order failed before the new one was told to have begun', () => {
    const closed = [
      fact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'asked to', blamed: false, by: 'ops' }),
      fact('AdminClosed', { by: 'ops', reason: 'asked to' }),
    ]
    given(order, ...again, ...closed)
      .when(lost)
      .then()
    given(order, ...again, started, ...closed)
      .when(lost)
      .then(ended)
  })
})
