import { Fault } from '@penstock/kernel/result.ts'
import { describe, expect, test } from 'vitest'
import { createPostgresAppender } from './event-appender.ts'
import { createPostgresReader } from './event-reader.ts'
import { toPostgresFault, isServerAnswer } from './faults.ts'
import type { ConnectionPool } from './pool.ts'

/** An error as the driver reports it for an SQLSTATE of the server. */
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
])('%s (%s) is a Fault, because the same call may succeed later', (code) => {
  expect(toPostgresFault(serverError(code))).toBeInstanceOf(Fault)
})

test.each(['23505', '22P02', '42P01'])('%s is not a Fault, because the server refuses the content of the statement', (code) => {
  const error = serverError(code)
  expect(toPostgresFault(error)).toBe(error)
})

describe('an append', () => {
  const event = { id: '018f3c1e-0000-7000-8000-000000000001', type: 'Happened', data: '{}', meta: '{}' }
  /** A pool whose statements all fail with this error of the server. */
  const failing = (code: string): ConnectionPool => ({
    async query() {
      throw toPostgresFault(serverError(code))
    },
    connect: () => Promise.reject(new Error('unexpected connect')),
    end: () => Promise.resolve(),
  })
  test.each(['57P01', '57P02', '57P03'])('during a restart of the server (%s) rejects with a Fault', async (code) => {
    await expect(
      createPostgresAppender(failing(code), new Map([['order', 'order']]), () => undefined).append('order-1', 'none', [event]),
    ).rejects.toBeInstanceOf(Fault)
  })
})

describe('the concurrent reads of streams', () => {
  const logs = new Map([['order', 'order']])
  /** A pool whose statements fail with this error of the server if they read the stream. */
  const createFailingPool = (stream: string, code: string) => {
    const reads: unknown[] = []
    const query = async ({ values: [streams] }: { readonly values: readonly (readonly string[])[] }) => {
      reads.push(streams)
      if (streams?.includes(stream)) throw toPostgresFault(serverError(code))
      return { rows: [] }
    }
    return { pool: { query } as unknown as ConnectionPool, reads } // the reader calls nothing else
  }
  const readAll = (pool: ConnectionPool) => {
    const reader = createPostgresReader(pool, logs)
    return Promise.allSettled(['order-1', 'order-2', 'order-3'].map((stream) => reader.read(stream, 0, undefined)))
  }

  test('fail alone if a row of their stream is damaged (XX001)', async () => {
    const { pool, reads } = createFailingPool('order-2', 'XX001')
    expect((await readAll(pool)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(reads).toHaveLength(4)
  })

  test('share the Fault of a server that does not answer', async () => {
    const { pool, reads } = createFailingPool('order-2', '57P01')
    for (const result of await readAll(pool)) expect(result).toMatchObject({ reason: expect.any(Fault) as Fault })
    expect(reads).toHaveLength(1)
  })
})

test('an error that ends the session is not an answer, so that its connection is not reused', () => {
  expect(['57P01', '57P02', '57P03', '08006'].map((code) => isServerAnswer(serverError(code)))).toEqual([
    false,
    false,
    false,
    false,
  ])
  expect(['23505', '40001'].map((code) => isServerAnswer(serverError(code)))).toEqual([true, true])
})
