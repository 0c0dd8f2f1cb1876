import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createJumpingWallClock } from '@penstock/ports/jumping-wall-clock.fixture.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connectLnd } from './connection.ts'
import { LndUnreachable } from './rpc-errors.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'penstock-lnd-'))
  for (const file of ['tls.cert', 'macaroon']) writeFileSync(join(dir, file), file)
})
afterEach(() => rmSync(dir, { recursive: true }))

/** A connection to a node that never answers. Each sleep ends at once, and the test sets the clock. */
function open() {
  const world = { now: 0, sleep: (): Promise<void> => Promise.resolve() }
  const clock = { now: createJumpingWallClock(() => world.now), monotonicMs: () => world.now, sleep: () => world.sleep() }
  const files = { certFile: join(dir, 'tls.cert'), macaroonFile: join(dir, 'macaroon') }
  return { world, connection: connectLnd({ socket: 'localhost:1', ...files }, clock) }
}
const neverAnswer = () => new Promise<never>(() => undefined)

test('a timeout replaces the client only if the client is older than ten seconds', async () => {
  const { world, connection } = open()
  const first = connection.lnd()
  await expect(connection.ask(neverAnswer)).rejects.toThrow(LndUnreachable)
  expect(connection.lnd()).toBe(first)
  world.now = 10_001
  await Promise.all(
    [connection.ask(neverAnswer), connection.ask(neverAnswer)].map((call) => expect(call).rejects.toThrow(LndUnreachable)),
  )
  const second = connection.lnd()
  expect(second).not.toBe(first)
  await expect(connection.ask(neverAnswer)).rejects.toThrow(LndUnreachable)
  expect(connection.lnd()).toBe(second)
})

test('a timeout of an older client does not replace its successor', async () => {
  const { world, connection } = open()
  const ends: (() => void)[] = []
  world.sleep = () => new Promise((resolve) => ends.push(resolve))
  const [firstCall, secondCall] = [connection.ask(neverAnswer), connection.ask(neverAnswer)]
  world.now = 10_001
  ends[0]?.()
  await expect(firstCall).rejects.toThrow(LndUnreachable)
  const second = connection.lnd()
  world.now = 30_000
  ends[1]?.()
  await expect(secondCall).rejects.toThrow(LndUnreachable)
  expect(connection.lnd()).toBe(second)
})

test('a refusal by the node does not replace the client', async () => {
  const { world, connection } = open()
  const first = connection.lnd()
  world.now = 10_001
  await expect(connection.ask(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(connection.lnd()).toBe(first)
})

test('the certificate is read for each client, because lnd replaces an expired certificate', async () => {
  const { world, connection } = open()
  rmSync(join(dir, 'tls.cert'))
  world.now = 10_001
  await expect(connection.ask(neverAnswer)).rejects.toThrow(/tls.cert cannot be read/)
  writeFileSync(join(dir, 'tls.cert'), 'another')
  const first = connection.lnd()
  world.now = 20_002
  await expect(connection.ask(neverAnswer)).rejects.toThrow(LndUnreachable)
  expect(connection.lnd()).not.toBe(first)
})
