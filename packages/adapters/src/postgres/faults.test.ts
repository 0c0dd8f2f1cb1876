import { Fault } from '@penstock/kernel/result.ts'
import { describe, expect, test } from 'vitest'
import { eventAppender } from './event-appender.ts'
import { asFault, isAnswer } from './faults.ts'
import type { Pool } from './pool.ts'

/** An error as the driver makes it of the server's. */
const serverError = (code: string): Error => Object.assign(new Error('said by the server'), { code })

test.each([
  ['57P01', 'admin_shutdown'],
  ['57P02', 'crash_shutdown'],
  ['57P03', 'cannot_connect_now'],
  ['57P05', 'idle_session_timeout'],
  ['57014', 'query_canceled'],
  ['08006', 'connection_failure'],
  ['40001', 'serialization_failure'],
  ['53300', 'too_many_connections'],
  ['58030', 'io_error'],
  ['55P03', 'lock_not_available'],
  ['25006', 'read_only_sql_transaction'],
])('%s (%s) is a fault: the same call may succeed later', (code) => {
  expect(asFault(serverError(code))).toBeInstanceOf(Fault)
})

test.each(['23505', '22P02', '42P01'])('%s is none: the server refuses the statement for its content', (code) => {
  const error = serverError(code)
  expect(asFault(error)).toBe(error)
})

describe('an append', () => {
  const event = { id: '018f3c1e-0000-7000-8000-000000000001', type: 'Happened', data: '{}', meta: '{}' }
  /** A pool whose every statement ends with this error of the server. */
  const failing = (code: string): Pool => ({
    async query() {
      throw asFault(serverError(code))
    },
    connect: () => Promise.reject(new Error('not asked')),
    end: () => Promise.resolve(),
  })
  test.each(['57P01', '57P02', '57P03'])('during a restart of the server (%s) is a fault, which is tried again', async (code) => {
    await expect(
      eventAppender(failing(code), new Map([['order', 'order']]), () => undefined).append('order-1', 'none', [event]),
    ).rejects.toBeInstanceOf(Fault)
  })
})

test('a session that the server ended has not answered: its connection is not used again', () => {
  expect(['57P01', '57P02', '57P03', '08006'].map((code) => isAnswer(serverError(code)))).toEqual([false, false, false, false])
  expect(['23505', '40001'].map((code) => isAnswer(serverError(code)))).toEqual([true, true])
})
