import { systemClock } from '@penstock/adapters/system/clock.ts'
import assert from 'node:assert/strict'
import { jumpingWall } from '@penstock/ports/jumping-wall.contract.ts'
import { test } from 'vitest'
import { openNodeBook } from './node-book.ts'

const at = (monotonicMs: () => number) => ({ ...systemClock, now: jumpingWall(Date.now), monotonicMs })

test('a node is asked for once a minute, however many ask', async () => {
  let [asked, now] = [0, 1000]
  const peers = { addresses: async () => ({ alias: `asked ${++asked} times`, sockets: [] }) }
  const book = openNodeBook(
    peers,
    at(() => now),
  )
  const both = await Promise.all([book('a'), book('a')])
  assert.deepEqual(
    both.map(({ alias }) => alias),
    ['asked 1 times', 'asked 1 times'],
  )
  now += 59_000
  assert.equal((await book('a')).alias, 'asked 1 times')
  now += 1000
  assert.equal((await book('a')).alias, 'asked 2 times')
})

test('a node that nobody knows, and a fault, leave the fields empty', async () => {
  const peers = {
    addresses: async (pubkey: string) => {
      if (pubkey === 'faulty') throw new Error('the node is away')
      return { alias: '', sockets: [] }
    },
  }
  const book = openNodeBook(peers, systemClock)
  for (const pubkey of ['faulty', 'unknown']) assert.deepEqual(await book(pubkey), { alias: null, sockets: [] })
})

test('whoever does not answer holds nobody up', async () => {
  const book = openNodeBook({ addresses: () => new Promise(() => undefined) }, systemClock)
  const began = performance.now()
  assert.deepEqual(await book('a'), { alias: null, sockets: [] })
  assert.deepEqual(await book('a'), { alias: null, sockets: [] })
  assert.ok(performance.now() - began < 1900)
})
