import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { test } from 'vitest'
import { type LogHeadStore, isSigned, parseHead } from './heads.ts'
import { runHeadWriter } from './head-writer.ts'

/** Creates a store of log heads in memory. */
function memoryHeads(key: Uint8Array = randomBytes(32)): LogHeadStore & { readonly kept: string[] } {
  const kept: string[] = []
  let end: string | undefined
  return {
    key,
    kept,
    end: async () => end,
    writeEnd: async (line) => void (end = line),
    last: async () => kept.at(-1),
    append: async (line) => void kept.push(line),
    async *lines() {
      yield* kept
    },
  }
}

const event = (n: number) => ({
  id: `e${n}`,
  type: 'PayhashClaimed',
  data: '{}',
  meta: `{"chain":"${`${n}`.padStart(64, '0')}"}`,
})

test('a restarted writer continues from the last head, and each head lists the streams that grew', async () => {
  const { platform, store } = await createMemoryPlatform()
  const heads = memoryHeads()
  const runOnce = () => runHeadWriter({ ...platform, store, heads }, AbortSignal.abort())
  await store.append('payhash-a', 'none', [event(0), event(1)])
  await runOnce()
  await runOnce()
  await store.append('payhash-b', 'none', [event(2)])
  await store.append('payhash-a', 1, [event(3)])
  await runOnce()
  const [start, first, second, ...more] = heads.kept.map(parseHead)
  assert.ok(start && first && second)
  assert.deepEqual(more, [])
  assert.deepEqual([start.position, start.events], ['start', 0])
  assert.deepEqual([first.from, first.events, first.streams], ['start', 2, [['payhash-a', 0, 1, `${'0'.repeat(63)}1`]]])
  assert.deepEqual(
    [second.from, second.events, second.streams.map(([stream, from, to]) => [stream, from, to])],
    [
      first.position,
      4,
      [
        ['payhash-b', 0, 0],
        ['payhash-a', 2, 2],
      ],
    ],
  )
  assert.ok(heads.kept.every((line) => isSigned(heads.key ?? new Uint8Array(), line) && !isSigned(randomBytes(32), line)))
})

test('a long log gets a head per 10,000 events, and its last hash does not depend on earlier heads', async () => {
  const { platform, store } = await createMemoryPlatform()
  const [cut, whole] = [memoryHeads(), memoryHeads()]
  for (let n = 0; n < 12_000; n += 1000) {
    await store.append(
      `payhash-${n}`,
      'none',
      Array.from({ length: 1000 }, (_, index) => event(n + index)),
    )
    if (n === 3000) await runHeadWriter({ ...platform, store, heads: cut }, AbortSignal.abort())
  }
  for (const heads of [cut, whole]) await runHeadWriter({ ...platform, store, heads }, AbortSignal.abort())
  assert.deepEqual(
    whole.kept.map((line) => parseHead(line).events),
    [0, 10_000, 12_000],
  )
  assert.deepEqual(
    cut.kept.map((line) => parseHead(line).events),
    [0, 4000, 12_000],
  )
  assert.equal(parseHead(cut.kept.at(-1) ?? '').hash, parseHead(whole.kept.at(-1) ?? '').hash)
})

test('the writer covers events that are appended while it runs, until it is stopped', async () => {
  const { platform, store } = await createMemoryPlatform()
  const heads = memoryHeads()
  const stop = new AbortController()
  const running = runHeadWriter({ ...platform, store, heads }, stop.signal)
  await waitUntil('the first head is written', () => heads.kept.length === 1)
  await store.append('payhash-a', 'none', [event(0)])
  stop.abort()
  await running
  assert.equal(parseHead(heads.kept.at(-1) ?? '').events, 1)
})
