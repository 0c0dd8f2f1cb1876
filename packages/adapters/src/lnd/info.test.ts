import { Fault } from '@penstock/kernel/result.ts'
import type { AuthenticatedLnd } from 'lightning'
import { expect, test } from 'vitest'
import type { Connection } from './connection.ts'
import { holdExpiryDeltaOf } from './info.ts'
import { asFault, Unreached } from './refusal.ts'

type Answer = (request: object, done: (error: object | null, answer?: object) => void) => void

const tells =
  (blocks: string): Answer =>
  (_, done) =>
    done(null, { config: { 'invoices.HoldExpiryDelta': blocks } })
const fails =
  (code: number, details: string): Answer =>
  (_, done) =>
    done({ code, details })

/** A node whose settings are asked for, and a clock that is set by hand. */
function node(first: Answer) {
  const world = { answer: first, now: 0, asked: 0 }
  const getDebugInfo: Answer = (request, done) => {
    world.asked++
    world.answer(request, done)
  }
  const lnd = { default: { getDebugInfo } } as unknown as AuthenticatedLnd // the one call that is made
  const connection: Connection = {
    clock: { now: () => world.now, sleep: () => Promise.resolve() },
    lnd: () => lnd,
    ask: (work) => work(lnd).catch((error: unknown) => Promise.reject(asFault(error))),
  }
  return { world, delta: holdExpiryDeltaOf(connection) }
}

test('the setting of the node counts, and is asked for again after minutes or with another version', async () => {
  const { world, delta } = node(tells('20'))
  expect([await delta('0.20.1'), await delta('0.20.1'), world.asked]).toEqual([20, 20, 1])
  world.answer = tells('30')
  world.now = 5 * 60_000
  expect([await delta('0.20.1'), world.asked]).toEqual([30, 2])
  expect([await delta('0.21.0'), world.asked]).toEqual([30, 3])
})

test.each([
  ['the macaroon does not allow the call', fails(2, 'permission denied')],
  ['the node has no such call', fails(12, 'unknown method GetDebugInfo for service lnrpc.Lightning')],
])('the standard of a version that we know is taken where %s', async (_, answer) => {
  expect(await node(answer).delta('0.20.1')).toBe(12)
  expect(await node(answer).delta('0.19.3')).toBeNull()
})

test.each([
  ['does not answer', fails(14, 'no connection'), Unreached],
  ['answers with something else', fails(2, 'waiting to start, RPC services not available'), Fault],
])('a node that %s is not taken for one that keeps to the standard', async (_, answer, kind) => {
  const { world, delta } = node(answer)
  await expect(delta('0.20.1')).rejects.toThrow(kind)
  world.answer = tells('30')
  expect(await delta('0.20.1')).toBe(30)
})
