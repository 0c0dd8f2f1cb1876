import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jumpingWall } from '@penstock/ports/jumping-wall.contract.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connectLnd } from './connection.ts'
import { Unreached } from './refusal.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'penstock-lnd-'))
  for (const file of ['tls.cert', 'macaroon']) writeFileSync(join(dir, file), file)
})
afterEach(() => rmSync(dir, { recursive: true }))

/** Nobody answers; a wait is over at once, and the clock is set by hand. */
function open() {
  const world = { now: 0, sleep: (): Promise<void> => Promise.resolve() }
  const clock = { now: jumpingWall(() => world.now), monotonicMs: () => world.now, sleep: () => world.sleep() }
  const files = { certFile: join(dir, 'tls.cert'), macaroonFile: join(dir, 'macaroon') }
  return { world, connection: connectLnd({ socket: 'localhost:1', ...files }, clock) }
}
const silence = () => new Promise<never>(() => undefined)

test('a client that gives no answer is replaced, and not at every call', async () => {
  const { world, connection } = open()
  const first = connection.lnd()
  await expect(connection.ask(silence)).rejects.toThrow(Unreached)
  expect(connection.lnd()).toBe(first)
  world.now = 10_001
  await Promise.all([connection.ask(silence), connection.ask(silence)].map((call) => expect(call).rejects.toThrow(Unreached)))
  const second = connection.lnd()
  expect(second).not.toBe(first)
  await expect(connection.ask(silence)).rejects.toThrow(Unreached)
  expect(connection.lnd()).toBe(second)
})

test('what an older client did not answer says nothing about the one after it', async () => {
  const { world, connection } = open()
  const ends: (() => void)[] = []
  world.sleep = () => new Promise((resolve) => ends.push(resolve))
  const [early, late] = [connection.ask(silence), connection.ask(silence)]
  world.now = 10_001
  ends[0]?.()
  await expect(early).rejects.toThrow(Unreached)
  const second = connection.lnd()
  world.now = 30_000
  ends[1]?.()
  await expect(late).rejects.toThrow(Unreached)
  expect(connection.lnd()).toBe(second)
})

test('a no of the node replaces nothing', async () => {
  const { world, connection } = open()
  const first = connection.lnd()
  world.now = 10_001
  await expect(connection.ask(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(connection.lnd()).toBe(first)
})

test('the certificate is read for each client: lnd makes a new one where the old one has lapsed', async () => {
  const { world, connection } = open()
  rmSync(join(dir, 'tls.cert'))
  world.now = 10_001
  await expect(connection.ask(silence)).rejects.toThrow(/tls.cert cannot be read/)
  writeFileSync(join(dir, 'tls.cert'), 'another')
  const first = connection.lnd()
  world.now = 20_002
  await expect(connection.ask(silence)).rejects.toThrow(Unreached)
  expect(connection.lnd()).not.toBe(first)
})
