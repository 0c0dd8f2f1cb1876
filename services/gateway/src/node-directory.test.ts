import { systemClock } from '@penstock/adapters/system/clock.ts'
import assert from 'node:assert/strict'
import { createJumpingWallClock } from '@penstock/ports/jumping-wall-clock.fixture.ts'
import { test } from 'vitest'
import { openNodeDirectory } from './node-directory.ts'

const clockAt = (monotonicMs: () => number) => ({
  ...systemClock,
  now: createJumpingWallClock(() => 1_800_000_000_000),
  monotonicMs,
})

test('a node is looked up once per minute for all callers', async () => {
  let [lookups, now] = [0, 1000]
  const peers = { addresses: async () => ({ alias: `asked ${++lookups} times`, sockets: [] }) }
  const lookUpNode = openNodeDirectory(
    peers,
    clockAt(() => now),
  )
  const both = await Promise.all([lookUpNode('a'), lookUpNode('a')])
  assert.deepEqual(
    both.map(({ alias }) => alias),
    ['asked 1 times', 'asked 1 times'],
  )
  now += 59_000
  assert.equal((await lookUpNode('a')).alias, 'asked 1 times')
  now += 1000
  assert.equal((await lookUpNode('a')).alias, 'asked 2 times')
})

test('an unknown node and a failed look-up give empty fields', async () => {
  const peers = {
    addresses: async (pubkey: string) => {
      if (pubkey === 'faulty') throw new Error('the node is away')
      return { alias: '', sockets: [] }
    },
  }
  const lookUpNode = openNodeDirectory(peers, systemClock)
  for (const pubkey of ['faulty', 'unknown']) assert.deepEqual(await lookUpNode(pubkey), { alias: null, sockets: [] })
})

test('a look-up without an answer delays its caller by the timeout, and later callers not at all', async () => {
  const sleeps: number[] = []
  const clock = { ...systemClock, sleep: async (ms: number) => void sleeps.push(ms) }
  const lookUpNode = openNodeDirectory({ addresses: () => new Promise(() => undefined) }, clock)
  assert.deepEqual(await lookUpNode('a'), { alias: null, sockets: [] })
  assert.deepEqual(await lookUpNode('a'), { alias: null, sockets: [] })
  assert.equal(sleeps.length, 1)
})
