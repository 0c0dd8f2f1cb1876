import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { test } from 'vitest'
import { type HeadLog, isSigned, parseHead, readEnd } from './audit-heads.ts'
import { headKeeper, keepHeads } from './audit-keep.ts'
import { openLog } from './log.ts'
import { bind, run } from './run.ts'

const MINUTE_MS = 60_000

/** A market at an instant of its own, whose runs note heads and end. It has begun, and nothing was appended yet. */
async function world() {
  const made = await bare()
  await made.ran({ isKilled: true })
  return made
}

async function bare() {
  const { platform, store } = await memoryWorld()
  const key = randomBytes(32)
  const lines: string[] = []
  const ends: string[] = []
  const said: { reason?: string }[] = []
  const time = { now: 1_000_000_000 }
  const heads: HeadLog = {
    key,
    last: async () => lines.at(-1),
    append: async (line) => void lines.push(line),
    end: async () => ends.at(-1),
    writeEnd: async (line) => void ends.push(line),
    async *lines() {
      yield* lines
    },
  }
  const log = Object.assign(openLog('silent'), { error: (about: object) => void said.push(about) })
  const clock = { ...platform.clock, now: () => time.now }
  let count = 0
  return {
    time,
    lines,
    ends,
    said,
    reasons: () => said.map(({ reason }) => reason),
    /** Appends events, dated at an instant. */
    appended: async (events: number, at = time.now): Promise<void> => {
      const chain = '0'.repeat(64)
      const meta = JSON.stringify({ at, chain })
      for (let left = events; left > 0; left -= 500) {
        const batch = Array.from({ length: Math.min(left, 500) }, () => ({
          id: `e${count++}`,
          type: 'PayhashClaimed',
          data: '{}',
          meta,
        }))
        await store.append(`payhash-${count}`, 'none', batch)
      }
    },
    /** A run that ends: by a clean stop, or by a kill after which nothing more was noted. */
    ran: async ({ isAlone = true, isKilled = false } = {}): Promise<void> => {
      await keepHeads({ store, heads, log, clock, isAlone }, AbortSignal.abort())
      if (isKilled) ends.pop()
    },
    market: { store, heads, platform: { ...platform, log, clock } },
    marked: () => lines.map(parseHead).flatMap(({ gap, events }) => (gap ? [events] : [])),
  }
}

test.each([
  ['some events of the last seconds', 900, 5000, undefined],
  ['more than a thousand events, whatever their dates', 1001, 0, 'more than 1000 events'],
  ['events of more than a minute', 1, MINUTE_MS + 1, 'events of more than 60 seconds'],
])('what follows the last head after a kill: %s', async (_, events, laterMs, reason) => {
  const { ran, appended, said, marked, time, lines } = await world()
  await appended(10)
  await ran({ isKilled: true })
  await appended(events, time.now + laterMs)
  time.now += 60 * MINUTE_MS
  await ran({ isKilled: true })
  assert.deepEqual(said, reason === undefined ? [] : [{ reason, events, since: 1_000_000_000 }])
  assert.deepEqual(marked(), reason === undefined ? [] : [10 + events])
  // What comes then is covered as always.
  await appended(5)
  await ran()
  assert.deepEqual([said.length, marked().length], reason === undefined ? [0, 0] : [1, 1])
  assert.equal(parseHead(lines.at(-1) ?? '').events, 15 + events)
})

test('a quiet market that is killed leaves no gap, since it says again and again that it saw the end', async () => {
  const { appended, time, said, market, ends } = await world()
  await appended(3)
  const running = await run([bind(headKeeper(market.store, market.heads).keeper, {})], market.platform)
  await poll(() => ends.length > 0)
  // An hour passes in which nothing comes.
  time.now += 60 * MINUTE_MS
  await poll(() => readEnd(ends.at(-1) ?? '')?.at === time.now)
  const [line, end] = [await market.heads.last(), await market.heads.end()]
  await running.close()
  const heads = { ...market.heads, last: async () => line, end: async () => end }
  await appended(1, time.now + 1000)
  time.now += 60 * MINUTE_MS
  await keepHeads({ ...market.platform, store: market.store, heads, isAlone: true }, AbortSignal.abort())
  assert.deepEqual(said, [])
})

test('after a clean stop of a market that is alone nothing may follow', async () => {
  const { ran, appended, reasons, marked, ends } = await world()
  await appended(2)
  await ran()
  assert.equal(readEnd(ends.at(-1) ?? '')?.closed, true)
  await ran()
  assert.deepEqual(reasons(), [])
  await appended(1)
  await ran()
  assert.deepEqual([reasons(), marked()], [['events after a clean stop'], [3]])
})

test('others of a cluster may go on while the auditor is away, and start before it', async () => {
  const { ran, appended, reasons, time, ends } = await world()
  await appended(2)
  await ran({ isAlone: false })
  assert.equal(readEnd(ends.at(-1) ?? '')?.closed, false)
  await appended(5, time.now + 20_000)
  time.now += 60 * MINUTE_MS
  await appended(5, time.now - 30_000)
  await ran({ isAlone: false })
  assert.deepEqual(reasons(), [])
  await appended(1, time.now + 2 * MINUTE_MS)
  time.now += 60 * MINUTE_MS
  await ran({ isAlone: false })
  assert.deepEqual(reasons(), ['events of more than 60 seconds'])
})

test('heads that were cut are missed by the end of the log that is known beside them', async () => {
  const { ran, appended, reasons, lines, market, time } = await world()
  await appended(4)
  await ran({ isKilled: true })
  lines.splice(1)
  // A power cut may do that: the end is signed, and the log is still what it says.
  await ran({ isKilled: true })
  assert.deepEqual(reasons(), [])
  lines.splice(1)
  const others = await world()
  await others.appended(5, time.now)
  await keepHeads({ ...market.platform, store: others.market.store, heads: market.heads, isAlone: true }, AbortSignal.abort())
  assert.deepEqual(reasons(), ['the log is not the one of its last known end'])
  assert.ok(lines.every((line) => isSigned(market.heads.key ?? new Uint8Array(), line)))
})

test('heads that begin where events are already are a gap, and those of an older copy are not continued', async () => {
  const { ran, appended, said, lines, ends, marked, market } = await bare()
  await appended(3)
  await ran()
  assert.deepEqual([said.length, marked()], [1, [3]])
  const older = await world()
  await older.appended(1)
  ends.splice(0)
  const before = [...lines]
  await keepHeads({ ...market.platform, store: older.market.store, heads: market.heads }, AbortSignal.abort())
  assert.deepEqual(lines, before)
  assert.equal(said.length, 2)
})

test.each([
  ['the old end moved away too', true, []],
  ['the old end left', false, [undefined]],
])('another audit key, old heads moved away, %s: the new heads begin with a gap', async (_, isMoved, before) => {
  const { ran, appended, lines, ends, reasons, marked, market } = await world()
  await appended(3)
  await ran()
  lines.splice(0)
  if (isMoved) ends.splice(0)
  const heads = { ...market.heads, key: randomBytes(32) }
  const start = () => keepHeads({ ...market.platform, store: market.store, heads, isAlone: true }, AbortSignal.abort())
  await start()
  // An end that the new key did not sign is an error without a reason.
  assert.deepEqual(reasons(), [...before, 'events of more than 60 seconds'])
  assert.deepEqual(marked(), [3])
  assert.ok(isSigned(heads.key, ends.at(-1) ?? ''))
  await start()
  assert.equal(reasons().length, before.length + 1)
})

async function poll(isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries++) {
    assert.ok(tries < 1000)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
